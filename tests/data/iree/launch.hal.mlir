module {
  util.global private @__constant : !hal.buffer
  util.initializer {
    %buffer_cst = util.buffer.constant <alignment = 64> : !util.buffer = #util.composite<20xi8, [
    dense<"0x0000803F00000040"> : tensor<2xf32>,
    dense<0> : vector<8xi8>,
    dense<3.0> : tensor<2xf16>,
]>
    %c20 = arith.constant 20 : index
    util.global.store %2, @__constant : !hal.buffer
    util.return
  }
  util.func private @__f_memoize_apply() -> !hal.command_buffer attributes {inlining_policy = #util.inline.never} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    %c20 = arith.constant 20 : index
    %c64 = arith.constant 64 : index
    %c7_i32 = arith.constant 7 : i32
    %__constant = util.global.load immutable @__constant : !hal.buffer
    %exe = util.global.load immutable @exe : !hal.executable
    %cmd = hal.command_buffer.create device(%d : !hal.device) mode("None") bindings(%c2) : !hal.command_buffer
    hal.command_buffer.fill_buffer<%cmd : !hal.command_buffer> target(%c1 : index)[%c0, %c64] pattern(%c7_i32 : i32) flags("None")
    hal.command_buffer.execution_barrier<%cmd : !hal.command_buffer> source("x") target("y") flags("None")
    %function_id = hal.executable.lookup.function target(%exe : !hal.executable) function(@exe::@rocm::@k$1) : i64
    hal.command_buffer.dispatch<%cmd : !hal.command_buffer> target(%exe : !hal.executable)[%function_id] workgroups([%c2, %c1, %c1]) constants([%c7_i32]) bindings([
      (%c0 : index)[%c8, %c8],
      (%__constant : !hal.buffer)[%c0, %c20],
      (%c1 : index)[%c0, %c64]
    ]) flags("None")
    hal.command_buffer.finalize<%cmd : !hal.command_buffer>
    util.return %cmd : !hal.command_buffer
  }
  util.global private @__f_result : !hal.command_buffer
  util.initializer {
    %0 = util.call @__f_memoize_apply() : () -> !hal.command_buffer
    util.global.store %0, @__f_result : !hal.command_buffer
    util.return
  }
  util.func public @f(%arg0: !hal.buffer_view) -> !hal.buffer_view attributes {iree.abi.stub} {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %commands = util.global.load immutable @__f_result : !hal.command_buffer
    %element_type_f32 = hal.element_type<f32> : i32
    hal.buffer_view.assert<%arg0 : !hal.buffer_view> message("input0") shape([%c2, %c3]) type(%element_type_f32) encoding(%e)
    %buffer = hal.buffer_view.buffer<%arg0 : !hal.buffer_view> : !hal.buffer
    %t = hal.device.queue.alloca<%d : !hal.device> wait(%0) signal(%fence) type(%m) usage(%u) flags("None") : !hal.buffer{%c64}
    hal.device.queue.execute.indirect<%d : !hal.device> wait(%0) signal(%fence) commands(%commands) bindings([
      (%buffer : !hal.buffer)[%c0, %c16],
      (%t : !hal.buffer)[%c0, %c64]
    ]) flags("None")
    %view = hal.buffer_view.create buffer(%t : !hal.buffer)[%c16, %c16] shape([%c4]) type(%element_type_f32) encoding(%e) : !hal.buffer_view
    util.return %view : !hal.buffer_view
  }
}
