use crate::args::BenchCrossover;
use crate::commands::show;
use crate::error::LabError;
use crate::measure::{Crossover, Point};
use omr_console::{ConsoleError, Ui, start_threads, thousands};
use omr_protocol::ParamSet;
use plotters::prelude::*;
use std::error::Error;

pub(super) fn run(args: &BenchCrossover, ui: &Ui) -> Result<(), LabError> {
    start_threads(args.threads)?;
    let set = ParamSet::named(&args.params)?;
    let bar = ui.bar();
    let measured = Crossover::measure(&set, args.seed, &bar);
    drop(bar);
    let measured = measured?;
    if let Some(path) = &args.svg {
        let picture = picture(&measured).map_err(|error| {
            let error = std::io::Error::other(error.to_string());
            ConsoleError::write(path, error)
        })?;
        omr_console::write_result(path, picture.as_bytes())?;
    }
    show(args.json, &measured, table)
}

fn table(measured: &Crossover) -> String {
    let mut text = format!(
        "{}, {} threads: a batch of {} messages {:.2} s, a message {:.2} ms ({:.2} ms alone)\n\
         SophOMR costs less from {} messages on\n\n{:>12} {:>12} {:>12} {:>12}  s\n",
        measured.params,
        measured.threads,
        thousands(measured.batch),
        measured.batch_s,
        measured.message_s * 1e3,
        measured.latency_s * 1e3,
        thousands(measured.crossover),
        "messages",
        "sophomr",
        "instantomr",
        "hybrid",
    );
    for point in &measured.points {
        text += &format!(
            "{:>12} {:>12.3} {:>12.3} {:>12.3}\n",
            thousands(point.messages),
            point.sophomr_s,
            point.instantomr_s,
            point.hybrid_s
        );
    }
    if let Some(us) = measured.yardstick_us {
        text += &format!(
            "\nyardstick NTT {us:.1} us: a batch {} of them, a message {:.0}\n",
            thousands((measured.batch_s * 1e6 / us) as u64),
            measured.message_s * 1e6 / us
        );
    }
    text
}

/// The lines of both engines and of the hybrid, both axes logarithmic.
fn picture(measured: &Crossover) -> Result<String, Box<dyn Error>> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (760, 480)).into_drawing_area();
        area.fill(&WHITE)?;
        let most = measured.points.iter().map(|p| p.messages).max();
        let seconds = |p: &Point| p.instantomr_s.max(p.sophomr_s);
        let top = measured.points.iter().map(seconds).fold(1.0, f64::max);
        let mut chart = ChartBuilder::on(&area)
            .caption("Seconds for so many messages", ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(36)
            .y_label_area_size(56)
            .build_cartesian_2d(
                (1f64..most.unwrap_or(1) as f64).log_scale(),
                (0.01f64..2.0 * top).log_scale(),
            )?;
        chart
            .configure_mesh()
            .x_desc("messages")
            .y_desc("seconds")
            .draw()?;
        let lines = [
            ("hybrid", RGBColor(200, 200, 200), 8),
            ("SophOMR", RGBColor(30, 90, 180), 2),
            ("InstantOMR", RGBColor(200, 80, 20), 2),
        ];
        let seconds: [fn(&Point) -> f64; 3] = [|p| p.hybrid_s, |p| p.sophomr_s, |p| p.instantomr_s];
        for ((name, colour, width), seconds) in lines.into_iter().zip(seconds) {
            let points = measured.points.iter();
            let points = points.map(|p| (p.messages as f64, seconds(p)));
            let style = colour.stroke_width(width);
            chart
                .draw_series(LineSeries::new(points, style))?
                .label(name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], style));
        }
        crate::commands::legend::legend(&mut chart)?;
        area.present()?;
    }
    Ok(svg)
}
