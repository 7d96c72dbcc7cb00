//! Pictures of a comparison.

use crate::commands::chart::{COLOURS, Chart, Line, SeriesLabelPosition, side_by_side};
use crate::measure::compare::{Comparison, Entry};
use plotters::coord::Shift;
use plotters::prelude::*;
use std::error::Error;

type Drawn = Result<String, Box<dyn Error>>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

const WIDTH: u32 = 920;
/// The height of a bar with its gap.
const BAR: u32 = 30;
/// The width to the left of bars, for the schemes' names.
const NAMES: i32 = 200;
/// The width to the right of bars, for values.
const VALUES: i32 = 110;

/// A bar: pieces with their colours, and the text after it.
struct Bar {
    name: String,
    pieces: Vec<(f64, RGBColor)>,
    text: String,
}

fn draw(height: u32, paint: impl FnOnce(&Area) -> Result<(), Box<dyn Error>>) -> Drawn {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        area.fill(&WHITE)?;
        paint(&area)?;
        area.present()?;
    }
    Ok(svg)
}

/// Draws bars from the top of the area. Pieces are shares of the whole width.
fn bars(area: &Area, bars: &[Bar]) -> Result<(), Box<dyn Error>> {
    let font = ("sans-serif", 14).into_font();
    let room = f64::from(WIDTH as i32 - NAMES - VALUES);
    for (i, bar) in bars.iter().enumerate() {
        let top = i as i32 * BAR as i32 + 6;
        area.draw(&Text::new(bar.name.clone(), (8, top + 3), font.clone()))?;
        let mut from = f64::from(NAMES);
        for &(share, colour) in &bar.pieces {
            let to = from + share * room;
            let corners = [(from as i32, top), (to as i32, top + BAR as i32 - 10)];
            area.draw(&Rectangle::new(corners, colour.filled()))?;
            from = to;
        }
        let text = Text::new(bar.text.clone(), (from as i32 + 6, top + 3), font.clone());
        area.draw(&text)?;
    }
    Ok(())
}

/// Draws the names of colours, several in a line.
fn legend(area: &Area, top: u32, names: &[(&str, RGBColor)]) -> Result<(), Box<dyn Error>> {
    for (i, &(name, colour)) in names.iter().enumerate() {
        let (x, y) = (8 + (i % 6) as i32 * 150, (top + i as u32 / 6 * 22) as i32);
        area.draw(&Rectangle::new([(x, y), (x + 12, y + 12)], colour.filled()))?;
        area.draw(&Text::new(name.to_owned(), (x + 18, y), ("sans-serif", 13)))?;
    }
    Ok(())
}

fn names(all: &Comparison) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for stage in all.entries.iter().flat_map(|entry| entry.stages.keys()) {
        if !names.contains(&stage.as_str()) {
            names.push(stage);
        }
    }
    names
}

/// Draws the seconds of each stage, side by side, on one scale.
pub(super) fn stages(all: &Comparison) -> Drawn {
    let names = names(all);
    let coloured: Vec<(&str, RGBColor)> = names
        .iter()
        .copied()
        .zip(COLOURS.iter().copied().cycle())
        .collect();
    let messages = all.work.messages;
    let most = all
        .entries
        .iter()
        .map(|entry| entry.seconds(messages))
        .fold(f64::MIN_POSITIVE, f64::max);
    let lines: Vec<Bar> = all
        .entries
        .iter()
        .map(|entry| Bar {
            name: all.name(entry),
            pieces: pieces(entry, &coloured, messages, most),
            text: format!("{} s", super::markdown::seconds(entry.seconds(messages))),
        })
        .collect();
    let top = lines.len() as u32 * BAR + 16;
    draw(top + (coloured.len() as u32).div_ceil(6) * 22 + 8, |area| {
        bars(area, &lines)?;
        legend(area, top, &coloured)
    })
}

/// Returns the stages of a scheme as shares of `most` seconds.
fn pieces(
    entry: &Entry,
    coloured: &[(&str, RGBColor)],
    messages: u64,
    most: f64,
) -> Vec<(f64, RGBColor)> {
    let grow = (entry.seconds(messages) - entry.fixed_s)
        / (entry.digest_s - entry.fixed_s).max(f64::MIN_POSITIVE);
    let share = |&(name, colour): &(&str, RGBColor)| {
        let seconds = entry.stages.get(name)?;
        let grow = if Entry::is_fixed(name) { 1.0 } else { grow };
        Some((seconds * grow / most, colour))
    };
    coloured.iter().filter_map(share).collect()
}

/// Returns a logarithmic share: 0 at `least`, 1 at `most`.
fn log_share(value: f64, least: f64, most: f64) -> f64 {
    ((value / least).ln() / (most / least).ln()).clamp(0.0, 1.0)
}

/// Draws the seconds from the last post to payloads, logarithmically.
pub(super) fn waits(all: &Comparison) -> Drawn {
    let waits = || all.entries.iter().map(Entry::latency_s);
    let (least, most) = (
        waits().fold(1.0, f64::min) / 2.0,
        waits().fold(1.0, f64::max),
    );
    let lines: Vec<Bar> = all
        .entries
        .iter()
        .map(|entry| Bar {
            name: all.name(entry),
            pieces: vec![(log_share(entry.latency_s(), least, most), COLOURS[0])],
            text: format!("{} s", super::markdown::seconds(entry.latency_s())),
        })
        .collect();
    draw(lines.len() as u32 * BAR + 8, |area| bars(area, &lines))
}

/// Draws the bytes of a clue, a digest and a detection key, logarithmically from 100.
pub(super) fn sizes(all: &Comparison) -> Drawn {
    let parts = [
        ("clue", COLOURS[0]),
        ("digest", COLOURS[1]),
        ("detection key", COLOURS[2]),
    ];
    let of = |entry: &Entry| {
        [
            entry.bytes.clue,
            entry.bytes.digest,
            entry.bytes.detection_key,
        ]
    };
    let most = all.entries.iter().flat_map(of).max().unwrap_or(1000) as f64;
    let mut lines = Vec::new();
    for entry in &all.entries {
        for (i, (bytes, (_, colour))) in of(entry).into_iter().zip(parts).enumerate() {
            lines.push(Bar {
                name: if i == 0 {
                    all.name(entry)
                } else {
                    String::new()
                },
                pieces: vec![(log_share(bytes as f64, 100.0, most), colour)],
                text: format!("{} B", omr_console::thousands(bytes)),
            });
        }
    }
    let top = lines.len() as u32 * BAR + 16;
    draw(top + 30, |area| {
        bars(area, &lines)?;
        legend(area, top, &parts)
    })
}

/// Draws the seconds over the number of messages, with both axes logarithmic.
pub(super) fn scaling(all: &Comparison) -> Drawn {
    let counts: Vec<u64> = (8..=24).map(|log2| 1 << log2).collect();
    let seconds = |entry: &Entry, messages: u64| entry.seconds(messages);
    let ends = all
        .entries
        .iter()
        .flat_map(|entry| [seconds(entry, counts[0]), seconds(entry, 1 << 24)]);
    let (low, high) = ends.fold((1.0f64, 1.0f64), |(low, high), s| (low.min(s), high.max(s)));
    let lines = all
        .entries
        .iter()
        .zip(COLOURS.into_iter().cycle())
        .map(|(entry, colour)| Line {
            name: all.name(entry),
            colour,
            width: 2,
            points: counts
                .iter()
                .map(|&n| (n as f64, seconds(entry, n)))
                .collect(),
            measured: vec![(entry.messages as f64, entry.digest_s)],
        });
    let chart = Chart {
        caption: "",
        over: "messages",
        up: "seconds",
        axes: (256.0..16_777_216.0, low / 2.0..high * 2.0),
        names: SeriesLabelPosition::UpperLeft,
        lines: lines.collect(),
    };
    side_by_side(&[chart], WIDTH, 520)
}
