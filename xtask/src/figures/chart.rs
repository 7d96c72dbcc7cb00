//! Lines over logarithmic axes as SVG, in the colours of the reader's theme.

use std::fmt::Write;

use super::thousands;

/// The size of the picture, and the corners of the area with the lines.
const SIZE: [f64; 2] = [760.0, 400.0];
const LEFT_TOP: [f64; 2] = [64.0, 48.0];
const RIGHT_BOTTOM: [f64; 2] = [712.0, 344.0];

/// Colours that people with red-green colour blindness can distinguish (Okabe, Ito 2008), on white and on black.
const STYLE: &str = "\
rect { fill: #fff } text { font: 14px sans-serif; fill: #1f2328 }
path { fill: none; stroke-width: 2.5 } .grid { stroke: #d0d7de; stroke-width: 1 }
.rounds { stroke: #0072b2 } .batches { stroke: #d55e00 } .stream { stroke: #009e73 }
@media (prefers-color-scheme: dark) {
  rect { fill: #0d1117 } text { fill: #e6edf3 } .grid { stroke: #3d444d }
  .rounds { stroke: #56b4e9 } .batches { stroke: #e69f00 } .stream { stroke: #2fc79b }
}
";

/// A line with its name and its class in [`STYLE`].
pub(super) struct Line {
    pub(super) name: &'static str,
    pub(super) class: &'static str,
    pub(super) points: Vec<(f64, f64)>,
}

/// A chart of one quantity over another.
pub(super) struct Chart {
    pub(super) title: String,
    pub(super) over: String,
    pub(super) lines: Vec<Line>,
}

/// An axis between two powers of ten.
struct Axis {
    /// The exponents at both ends.
    exponents: [i32; 2],
    /// The coordinates of both ends.
    ends: [f64; 2],
}

impl Axis {
    fn new(values: impl Iterator<Item = f64> + Clone, ends: [f64; 2]) -> Self {
        let least = values.clone().fold(f64::INFINITY, f64::min);
        let most = values.fold(0.0, f64::max);
        let exponents = [least.log10().floor() as i32, most.log10().ceil() as i32];
        Self { exponents, ends }
    }

    /// Returns the coordinate of a value.
    fn at(&self, value: f64) -> f64 {
        let [from, to] = self.exponents.map(f64::from);
        let [start, end] = self.ends;
        start + (value.log10() - from) / (to - from) * (end - start)
    }

    /// Returns the powers of ten, as coordinates and text.
    fn ticks(&self) -> impl Iterator<Item = (f64, String)> {
        let [from, to] = self.exponents;
        (from..=to).map(|exponent| {
            let value = 10_f64.powi(exponent);
            let text = if value < 1.0 {
                format!("{value}")
            } else {
                thousands(value)
            };
            (self.at(value), text)
        })
    }
}

impl Chart {
    /// Draws the chart.
    pub(super) fn svg(&self) -> String {
        let ([left, top], [right, bottom]) = (LEFT_TOP, RIGHT_BOTTOM);
        let [width, height] = SIZE;
        let points = self.lines.iter().flat_map(|line| &line.points);
        let across = Axis::new(points.clone().map(|point| point.0), [left, right]);
        let up = Axis::new(points.map(|point| point.1), [bottom, top]);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
             <title>{}</title>\n<style>\n{STYLE}</style>\n<rect width=\"{width}\" height=\"{height}\"/>\n",
            self.title
        );
        svg += &text(left, top - 20.0, "start", &self.title);
        svg += &text((left + right) / 2.0, height - 12.0, "middle", &self.over);
        for (x, words) in across.ticks() {
            svg += &grid(&format!("M{x:.1} {top} V{bottom}"));
            svg += &text(x, bottom + 20.0, "middle", &words);
        }
        for (y, words) in up.ticks() {
            svg += &grid(&format!("M{left} {y:.1} H{right}"));
            svg += &text(left - 8.0, y + 5.0, "end", &words);
        }
        for line in &self.lines {
            let _ = write!(svg, "<path class=\"{}\" d=\"", line.class);
            for (number, (x, y)) in line.points.iter().enumerate() {
                let step = if number == 0 { "M" } else { " L" };
                let _ = write!(svg, "{step}{:.1} {:.1}", across.at(*x), up.at(*y));
            }
            svg += "\"/>\n";
            if let Some((x, y)) = line.points.last() {
                svg += &text(across.at(*x) - 8.0, up.at(*y) - 10.0, "end", line.name);
            }
        }
        svg + "</svg>\n"
    }
}

fn text(x: f64, y: f64, anchor: &str, words: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>\n")
}

/// Returns a path of the grid; other paths are lines.
fn grid(path: &str) -> String {
    format!("<path d=\"{path}\" class=\"grid\"/>\n")
}
