//! Test vectors of the hardware in `hw/`, computed by the evaluator: `vectors FOLDER KIND`.
//!
//! Kinds: `mul` (products modulo every prime), `toy` (every operation at an insecure small dimension), `step`
//! and `giant` (a rotation of set `sophomr-affine-v1` with a real detection key).

mod full;
mod image;
mod machine;
mod mul;
mod operators;
mod toy;

use image::Image;
use std::error::Error;
use std::path::Path;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [folder, kind] = args.as_slice() else {
        return Err("usage: vectors FOLDER mul|toy|step|giant".into());
    };
    let folder = Path::new(folder);
    std::fs::create_dir_all(folder)?;
    let write = |image: Image, name: &str| image.write(&folder.join(name));
    match kind.as_str() {
        "mul" => {
            mul::write(
                &folder.join("mul-50.bin"),
                "sophomr",
                50,
                &mul::sophomr_primes()?,
            )?;
            mul::write(
                &folder.join("mul-60.bin"),
                "paper",
                60,
                &mul::paper_primes(),
            )
        }
        "toy" => write(toy::image()?, "toy.bin"),
        "step" => write(full::image(full::Turn::Step)?, "step.bin"),
        "giant" => write(full::image(full::Turn::Giant)?, "giant.bin"),
        other => Err(format!("expected mul, toy, step or giant, found {other}").into()),
    }
}
