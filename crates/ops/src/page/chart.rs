//! A chart of one quantity over time, as SVG with a sentence that describes it.

use std::fmt::{Display, Formatter, Result};

use super::axis::Axis;

/// A picture of one quantity over time, with axes, and the same in a sentence. Sizes are those of a narrow screen, so
/// that its letters are of a size to be read there.
pub(super) struct Chart<'a> {
    /// Begins the names of what is in it.
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    /// The unit of the upright axis.
    pub(super) unit: &'a str,
    pub(super) across: Axis,
    pub(super) up: Axis,
    pub(super) points: Vec<(f64, f64)>,
    pub(super) text: String,
}

const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 220.0;
/// Room for what stands beside the plot.
const TOP: f64 = 26.0;
const BOTTOM: f64 = 40.0;
const RIGHT: f64 = 22.0;
/// Width of a digit, and room between it and the axis.
const DIGIT: f64 = 7.6;
const GAP: f64 = 8.0;

impl Display for Chart<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let id = self.id;
        write!(
            f,
            "<figure>\n<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-labelledby=\"{id}-name\" \
             aria-describedby=\"{id}-text\"><title id=\"{id}-name\">{}</title>\n",
            self.title
        )?;
        self.upright(f)?;
        self.level(f)?;
        f.write_str("<polyline class=\"curve\" points=\"")?;
        for (i, (x, y)) in self.points.iter().enumerate() {
            let space = if i == 0 { "" } else { " " };
            write!(f, "{space}{:.1},{:.1}", self.x(*x), self.y(*y))?;
        }
        writeln!(
            f,
            "\"/></svg>\n<figcaption id=\"{id}-text\">{}</figcaption>\n</figure>",
            self.text
        )
    }
}

impl Chart<'_> {
    /// Where the plot begins: behind the longest label.
    fn left(&self) -> f64 {
        let labels = self.up.ticks.iter().map(|tick| tick.label.chars().count());
        GAP + labels.max().unwrap_or(0) as f64 * DIGIT
    }

    fn x(&self, value: f64) -> f64 {
        let left = self.left();
        left + share(value, &self.across) * (WIDTH - RIGHT - left)
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - share(value, &self.up) * (HEIGHT - BOTTOM - TOP)
    }

    fn upright(&self, f: &mut Formatter<'_>) -> Result {
        writeln!(f, "<text x=\"0\" y=\"12\">{}</text>", self.unit)?;
        let (left, right) = (self.left(), WIDTH - RIGHT);
        for tick in &self.up.ticks {
            let (y, label) = (self.y(tick.at), &tick.label);
            writeln!(
                f,
                "<path class=\"grid\" d=\"M{left:.1} {y:.1}H{right:.1}\"/><text class=\"end\" x=\"{:.1}\" \
                 y=\"{:.1}\">{label}</text>",
                left - GAP / 2.0,
                y + 4.5
            )?;
        }
        Ok(())
    }

    fn level(&self, f: &mut Formatter<'_>) -> Result {
        let (left, right, floor) = (self.left(), WIDTH - RIGHT, HEIGHT - BOTTOM);
        writeln!(
            f,
            "<path class=\"axis\" d=\"M{left:.1} {TOP:.1}V{floor:.1}H{right:.1}\"/>"
        )?;
        for tick in &self.across.ticks {
            let (x, label) = (self.x(tick.at), &tick.label);
            writeln!(
                f,
                "<path class=\"axis\" d=\"M{x:.1} {floor:.1}v5\"/><text class=\"middle\" x=\"{x:.1}\" \
                 y=\"{:.1}\">{label}</text>",
                floor + 18.0
            )?;
        }
        writeln!(
            f,
            "<text class=\"end\" x=\"{right:.1}\" y=\"{:.1}\">time, UTC</text>",
            HEIGHT - 4.0
        )
    }
}

/// Where a value lies on an axis, 0 to 1; 0 where the axis has no length.
fn share(value: f64, axis: &Axis) -> f64 {
    if axis.high <= axis.low {
        return 0.0;
    }
    ((value - axis.low) / (axis.high - axis.low)).clamp(0.0, 1.0)
}
