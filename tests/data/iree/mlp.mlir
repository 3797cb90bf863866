func.func @mlp(%x: tensor<32x64xf32>, %w1: tensor<64x128xf32>, %b1: tensor<128xf32>, %w2: tensor<128x10xf32>, %b2: tensor<10xf32>) -> tensor<32x10xf32> {
  %zero = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<32x128xf32>
  %i1 = linalg.broadcast ins(%b1 : tensor<128xf32>) outs(%e1 : tensor<32x128xf32>) dimensions = [0]
  %h = linalg.matmul ins(%x, %w1 : tensor<32x64xf32>, tensor<64x128xf32>) outs(%i1 : tensor<32x128xf32>) -> tensor<32x128xf32>
  %r = linalg.map ins(%h : tensor<32x128xf32>) outs(%e1 : tensor<32x128xf32>) (%a: f32, %o: f32) {
    %m = arith.maximumf %a, %zero : f32
    linalg.yield %m : f32
  }
  %e2 = tensor.empty() : tensor<32x10xf32>
  %i2 = linalg.broadcast ins(%b2 : tensor<10xf32>) outs(%e2 : tensor<32x10xf32>) dimensions = [0]
  %y = linalg.matmul ins(%r, %w2 : tensor<32x128xf32>, tensor<128x10xf32>) outs(%i2 : tensor<32x10xf32>) -> tensor<32x10xf32>
  return %y : tensor<32x10xf32>
}
