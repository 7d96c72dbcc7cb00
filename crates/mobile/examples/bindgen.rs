//! Writes the Kotlin and Swift sources of the library.
#![forbid(unsafe_code)]

fn main() {
    uniffi::uniffi_bindgen_main();
}
