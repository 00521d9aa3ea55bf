//! Compiles every kernel with NVRTC, which needs no GPU. The long tests run this with NVRTC from its Python package.
#![allow(clippy::unwrap_used)]

#[test]
#[ignore = "needs NVRTC: cargo xtask test --full"]
fn kernels_compile_for_three_architectures() {
    for architecture in ["sm_75", "sm_80", "sm_90"] {
        for (file, text, options) in superpose_cuda::FILES {
            for single in [true, false] {
                let program = superpose_cuda::program(text, single);
                let code = superpose_cuda::compile(file, &program, architecture, options).unwrap();
                assert!(code.starts_with(b"\x7fELF"), "{file} for {architecture}");
            }
        }
    }
}
