//! Compression alone.

use crate::args::PdqCompress;
use crate::commands::show;
use crate::error::LabError;
use crate::measure::pdq::{CompressBench, CompressFigures, Params, PdqBenchError, keys};
use omr_console::{ConsoleError, Ui, files, start_threads, thousands};
use plotters::coord::Shift;
use plotters::prelude::*;
use std::error::Error;

/// Colours that people tell apart who see red and green alike (Okabe, Ito 2008).
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(213, 94, 0),
    RGBColor(90, 90, 90),
];

pub(super) fn run(args: &PdqCompress, ui: &Ui) -> Result<(), LabError> {
    start_threads(Some(args.threads))?;
    let params = Params::named(&args.params).map_err(PdqBenchError::from)?;
    let (secret, key) = keys(&params, args.seed);
    let mut all = Vec::new();
    if !args.json {
        files::print(&heading(args))?;
    }
    for &rows in &args.rows {
        for &bound in &args.bounds {
            ui.note(&format!("{rows} rows, bound {bound}"));
            let run = |run: u32| {
                let bench = CompressBench {
                    params: params.clone(),
                    rows,
                    bound,
                    seed: args.seed.wrapping_add(run.into()),
                };
                bench.run(&secret, &key)
            };
            let runs = (0..args.runs).map(run).collect::<Result<Vec<_>, _>>()?;
            let figures = median(runs);
            show(args.json, &figures, line)?;
            all.push(figures);
        }
    }
    if let Some(path) = &args.svg {
        let picture = picture(&all).map_err(|error| {
            let error = std::io::Error::other(error.to_string());
            ConsoleError::write(path, error)
        })?;
        omr_console::write_result(path, picture.as_bytes())?;
    }
    let exact = all.iter().filter(|figures| figures.exact).count();
    super::super::all_exact(exact as u64, all.len() as u64)
}

/// The run of median time; exact only if all were.
fn median(mut runs: Vec<CompressFigures>) -> CompressFigures {
    let exact = runs.iter().all(|run| run.exact);
    runs.sort_by(|a, b| a.compress_s.total_cmp(&b.compress_s));
    let mut middle = runs.swap_remove(runs.len() / 2);
    middle.exact = exact;
    middle
}

fn heading(args: &PdqCompress) -> String {
    format!(
        "{}, {} threads, median of {} runs\n{:>10} {:>6} {:>11} {:>10} {:>10} {:>9} {:>9} {:>9} {:>11} {:>6}\n",
        args.params,
        args.threads,
        args.runs,
        "rows",
        "bound",
        "compress s",
        "NTTs",
        "descent s",
        "codes s",
        "symbols s",
        "packing s",
        "answer B",
        "exact"
    )
}

fn line(figures: &CompressFigures) -> String {
    let stage = |name: &str| figures.stages.get(name).copied().unwrap_or_default();
    let ntts = figures.compress_ntts;
    format!(
        "{:>10} {:>6} {:>11.4} {:>10} {:>10.4} {:>9.4} {:>9.4} {:>9.4} {:>11} {:>6}  decode {:.3} s\n",
        thousands(figures.rows as u64),
        figures.bound,
        figures.compress_s,
        ntts.map_or("-".to_owned(), |ntts| thousands(ntts as u64)),
        stage("descent"),
        stage("codes"),
        stage("symbols"),
        stage("packing"),
        thousands(figures.answer_bytes as u64),
        if figures.exact { "yes" } else { "NO" },
        figures.decode_s,
    )
}

/// One of the two figures that runs differ by.
#[derive(Clone, Copy)]
struct Varied {
    of: fn(&CompressFigures) -> usize,
    axis: &'static str,
    legend: &'static str,
}

const ROWS: Varied = Varied {
    of: |figures| figures.rows,
    axis: "rows",
    legend: "rows:",
};
const BOUND: Varied = Varied {
    of: |figures| figures.bound,
    axis: "bound s",
    legend: "s =",
};

impl Varied {
    fn values(&self, all: &[CompressFigures]) -> Vec<usize> {
        let mut found: Vec<usize> = all.iter().map(self.of).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Seconds over rows, a line for each bound, and over bounds, a line for each number of rows: of these the ones that
/// vary. All axes are logarithmic.
fn picture(all: &[CompressFigures]) -> Result<String, Box<dyn Error>> {
    let mut panels = vec![(ROWS, BOUND), (BOUND, ROWS)];
    panels.retain(|(x, _)| x.values(all).len() > 1);
    if panels.is_empty() {
        panels.push((ROWS, BOUND));
    }
    let mut svg = String::new();
    {
        let size = (560 * panels.len() as u32, 420);
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        area.fill(&WHITE)?;
        let areas = area.split_evenly((1, panels.len()));
        for (area, panel) in areas.iter().zip(panels) {
            draw(area, all, panel)?;
        }
        area.present()?;
    }
    Ok(svg)
}

fn draw(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    all: &[CompressFigures],
    (x, lines): (Varied, Varied),
) -> Result<(), Box<dyn Error>> {
    let (xs, lines_of) = (x.values(all), lines.values(all));
    let seconds = all.iter().map(|figures| figures.compress_s);
    let (low, high) = seconds.fold((f64::MAX, 0f64), |(a, b), s| (a.min(s), b.max(s)));
    let (first, last) = (xs[0] as f64, xs[xs.len() - 1] as f64);
    let marks = xs.iter().map(|&x| x as f64).collect();
    let mut chart = ChartBuilder::on(area)
        .caption("Seconds of compression", ("sans-serif", 18))
        .margin(16)
        .x_label_area_size(36)
        .y_label_area_size(56)
        .build_cartesian_2d(
            (first..last * 1.01).log_scale().with_key_points(marks),
            (low / 1.5..high * 3.0).log_scale(),
        )?;
    let mesh = &mut chart.configure_mesh();
    mesh.x_desc(x.axis)
        .y_desc("seconds")
        .x_label_formatter(&|x| thousands(x.round() as u64))
        .draw()?;
    for (&line, colour) in lines_of.iter().zip(COLOURS.into_iter().cycle()) {
        let of_line = all.iter().filter(|figures| (lines.of)(figures) == line);
        let points: Vec<_> = of_line
            .map(|figures| ((x.of)(figures) as f64, figures.compress_s))
            .collect();
        let style = colour.stroke_width(2);
        let dots = points
            .iter()
            .map(|&point| Circle::new(point, 3, colour.filled()));
        chart.draw_series(dots)?;
        chart
            .draw_series(LineSeries::new(points.clone(), style))?
            .label(format!("{} {}", lines.legend, thousands(line as u64)))
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], style));
    }
    crate::commands::legend::legend(&mut chart)?;
    Ok(())
}
