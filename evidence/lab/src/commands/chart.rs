//! Lines over logarithmic axes, as SVG.

use omr_console::thousands;
use plotters::coord::Shift;
use plotters::prelude::*;
use std::error::Error;
use std::ops::Range;

pub(super) use plotters::prelude::SeriesLabelPosition;

/// Colours that people with red-green colour blindness can distinguish (Okabe, Ito 2008), and lighter and darker
/// ones.
pub(super) const COLOURS: [RGBColor; 20] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(213, 94, 0),
    RGBColor(240, 228, 66),
    RGBColor(90, 90, 90),
    RGBColor(140, 190, 220),
    RGBColor(245, 205, 130),
    RGBColor(130, 210, 185),
    RGBColor(230, 190, 210),
    RGBColor(235, 170, 130),
    RGBColor(180, 180, 180),
    RGBColor(0, 70, 110),
    RGBColor(150, 100, 0),
    RGBColor(0, 95, 70),
    RGBColor(130, 60, 100),
    RGBColor(140, 60, 0),
    RGBColor(160, 150, 40),
];

/// A line, and its measured points.
pub(super) struct Line {
    pub(super) name: String,
    pub(super) colour: RGBColor,
    pub(super) width: u32,
    pub(super) points: Vec<(f64, f64)>,
    pub(super) measured: Vec<(f64, f64)>,
}

/// A chart of one quantity over another.
pub(super) struct Chart<'a> {
    pub(super) caption: &'a str,
    pub(super) over: &'a str,
    /// The quantity of the vertical axis.
    pub(super) up: &'a str,
    /// The range of each axis.
    pub(super) axes: (Range<f64>, Range<f64>),
    /// A corner without points, for the names of the lines.
    pub(super) names: SeriesLabelPosition,
    pub(super) lines: Vec<Line>,
}

/// Draws charts side by side, each with this width and height.
///
/// Errors: those of plotters.
pub(super) fn side_by_side(
    charts: &[Chart<'_>],
    width: u32,
    height: u32,
) -> Result<String, Box<dyn Error>> {
    let mut svg = String::new();
    {
        let size = (width * charts.len() as u32, height);
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        area.fill(&WHITE)?;
        for (area, chart) in area.split_evenly((1, charts.len())).iter().zip(charts) {
            chart.draw(area)?;
        }
        area.present()?;
    }
    Ok(svg)
}

impl Chart<'_> {
    /// Draws the lines, with their names in a corner.
    fn draw(&self, area: &DrawingArea<SVGBackend<'_>, Shift>) -> Result<(), Box<dyn Error>> {
        let (x, y) = self.axes.clone();
        let mut chart = ChartBuilder::on(area)
            .caption(self.caption, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(36)
            .y_label_area_size(64)
            .build_cartesian_2d(x.log_scale(), y.log_scale())?;
        chart
            .configure_mesh()
            .x_desc(self.over)
            .y_desc(self.up)
            .x_label_formatter(&|x| thousands(x.round() as u64))
            .draw()?;
        for line in &self.lines {
            let style = line.colour.stroke_width(line.width);
            chart
                .draw_series(LineSeries::new(line.points.iter().copied(), style))?
                .label(line.name.as_str())
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], style));
            chart.draw_series(
                line.measured
                    .iter()
                    .map(|&point| Circle::new(point, 4, line.colour.filled())),
            )?;
        }
        chart
            .configure_series_labels()
            .background_style(WHITE)
            .border_style(BLACK)
            .position(self.names.clone())
            .draw()?;
        Ok(())
    }
}
