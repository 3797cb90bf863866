func.func @mlp16(%x: tensor<32x64xf16>, %w1: tensor<64x128xf16>, %w2: tensor<128x16xf16>) -> tensor<32x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<32x128xf32>
  %i1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<32x128xf32>) -> tensor<32x128xf32>
  %h = linalg.matmul ins(%x, %w1 : tensor<32x64xf16>, tensor<64x128xf16>) outs(%i1 : tensor<32x128xf32>) -> tensor<32x128xf32>
  %e3 = tensor.empty() : tensor<32x128xf16>
  %r = linalg.map ins(%h : tensor<32x128xf32>) outs(%e3 : tensor<32x128xf16>) (%a: f32, %o: f16) {
    %m = arith.maximumf %a, %zero : f32
    %t = arith.truncf %m : f32 to f16
    linalg.yield %t : f16
  }
  %e2 = tensor.empty() : tensor<32x16xf32>
  %i2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<32x16xf32>) -> tensor<32x16xf32>
  %y = linalg.matmul ins(%r, %w2 : tensor<32x128xf16>, tensor<128x16xf16>) outs(%i2 : tensor<32x16xf32>) -> tensor<32x16xf32>
  return %y : tensor<32x16xf32>
}
