#q = affine_map<(b, m, n, k, j) -> (b, m, k)>
#k = affine_map<(b, m, n, k, j) -> (b, j, k)>
#v = affine_map<(b, m, n, k, j) -> (b, j, n)>
#s = affine_map<(b, m, n, k, j) -> ()>
#o = affine_map<(b, m, n, k, j) -> (b, m, n)>
func.func @attention(%q: tensor<2x128x64xf16>, %k: tensor<2x128x64xf16>, %v: tensor<2x128x64xf16>) -> tensor<2x128x64xf16> {
  %scale = arith.constant 0.125 : f16
  %e = tensor.empty() : tensor<2x128x64xf16>
  %y = iree_linalg_ext.attention <{indexing_maps = [#q, #k, #v, #s, #o]}>
    ins(%q, %k, %v, %scale : tensor<2x128x64xf16>, tensor<2x128x64xf16>, tensor<2x128x64xf16>, f16)
    outs(%e : tensor<2x128x64xf16>) { ^bb0(%score: f32): iree_linalg_ext.yield %score : f32 } -> tensor<2x128x64xf16>
  return %y : tensor<2x128x64xf16>
}
