//! Draws the measurements over the number of minions, times in one panel, memory and
//! processor in another: all axes are logarithmic, so that linear growth is a straight
//! slope.

use super::measure::Measured;

const WIDTH: f64 = 900.0;
/// Of one panel.
const HEIGHT: f64 = 560.0;
const LEFT: f64 = 70.0;
const TOP: f64 = 30.0;
/// The names of the lines are right of it.
const RIGHT: f64 = 520.0;
const BOTTOM: f64 = 510.0;

const COLOURS: [&str; 16] = [
    "#1b6ca8", "#c0392b", "#27824a", "#8e44ad", "#b9770e", "#16858a", "#5d6d7e", "#a0306e",
    "#000000", "#7fb800", "#f06292", "#0d2c7a", "#e67e22", "#6d4c41", "#00a5cf", "#9e9d24",
];

/// The panels: what each is called, and the units of its lines.
const PANELS: [(&str, &[&str]); 2] = [
    ("seconds", &["s"]),
    (
        "memory and processor",
        &["MiB", "KiB", "% of a core", "s of the masters' processor"],
    ),
];

/// The drawing.
pub(super) fn svg(all: &[Measured]) -> String {
    let height = HEIGHT * PANELS.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    for (number, (title, units)) in PANELS.into_iter().enumerate() {
        let down = HEIGHT * number as f64;
        svg.push_str(&format!("<g transform=\"translate(0 {down})\">\n"));
        svg.push_str(&text(LEFT, TOP - 10.0, "#333", title));
        svg.push_str(&panel(&lines(all, units)));
        svg.push_str("</g>\n");
    }
    svg.push_str("</svg>\n");
    svg
}

fn panel(lines: &[Line]) -> String {
    let values = || lines.iter().flat_map(|(_, points)| points.iter());
    let x = Scale::over(values().map(|(count, _)| *count), LEFT, RIGHT);
    let y = Scale::over(values().map(|(_, value)| *value), BOTTOM, TOP);
    let mut svg = String::new();
    for (value, at) in x.tens() {
        svg.push_str(&rule(at, TOP, at, BOTTOM));
        svg.push_str(&text(at - 15.0, BOTTOM + 20.0, "#333", &value.to_string()));
    }
    for (value, at) in y.tens() {
        svg.push_str(&rule(LEFT, at, RIGHT, at));
        svg.push_str(&text(10.0, at + 4.0, "#333", &value.to_string()));
    }
    svg.push_str(&text(LEFT, BOTTOM + 42.0, "#333", "minions"));
    for (number, (name, points)) in lines.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let points: Vec<String> = points
            .iter()
            .map(|(count, value)| format!("{:.1},{:.1}", x.at(*count), y.at(*value)))
            .collect();
        svg.push_str(&format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n",
            points.join(" ")
        ));
        let line = TOP + 20.0 * (number as f64 + 1.0);
        svg.push_str(&text(RIGHT + 15.0, line, colour, name));
    }
    svg
}

/// A line's name, and its values over the number of minions.
type Line = (String, Vec<(f64, f64)>);

/// What was measured in one of these units, over the number of minions.
fn lines(all: &[Measured], units: &[&str]) -> Vec<Line> {
    let first = all.first().map(|first| first.figures.as_slice());
    let figures = first.unwrap_or_default().iter().enumerate();
    figures
        .filter(|(_, figure)| units.contains(&figure.unit))
        .map(|(at, figure)| {
            let points = all.iter().filter_map(|measured| {
                let value = measured.figures.get(at)?.value;
                (value > 0.0).then_some((f64::from(measured.count), value))
            });
            let name = match figure.unit {
                "s" => figure.name.clone(),
                unit => format!("{}, {unit}", figure.name),
            };
            (name, points.collect())
        })
        .collect()
}

/// A logarithmic axis over whole tens.
struct Scale {
    from: i32,
    to: i32,
    begin: f64,
    end: f64,
}

impl Scale {
    fn over(values: impl Iterator<Item = f64>, begin: f64, end: f64) -> Self {
        let logs: Vec<f64> = values.map(f64::log10).collect();
        let low = logs.iter().copied().fold(f64::INFINITY, f64::min);
        let high = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let whole = |log: f64| match log.is_finite() {
            #[expect(clippy::cast_possible_truncation, reason = "a small number")]
            true => log as i32,
            false => 0,
        };
        let from = whole(low.floor());
        Self {
            from,
            to: whole(high.ceil()).max(from + 1),
            begin,
            end,
        }
    }

    fn at(&self, value: f64) -> f64 {
        let share = (value.log10() - f64::from(self.from)) / f64::from(self.to - self.from);
        self.begin + share * (self.end - self.begin)
    }

    /// The tens on it, and where they are.
    fn tens(&self) -> impl Iterator<Item = (f64, f64)> {
        (self.from..=self.to).map(|ten| {
            let value = 10_f64.powi(ten);
            (value, self.at(value))
        })
    }
}

fn rule(x1: f64, y1: f64, x2: f64, y2: f64) -> String {
    format!("<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"#ddd\"/>\n")
}

fn text(x: f64, y: f64, colour: &str, text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{colour}\">{text}</text>\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::measure::Figure;

    #[test]
    fn what_grows_tenfold_is_one_step_on_the_scale() {
        let measured = |count: u32, value| Measured {
            count,
            figures: vec![Figure {
                name: "a ping & more".to_owned(),
                unit: "s",
                value,
            }],
            faults: Vec::new(),
        };
        let all = [
            measured(100, 0.1),
            measured(1000, 1.0),
            measured(10_000, 10.0),
        ];
        let svg = svg(&all);
        assert!(
            svg.contains("points=\"70.0,510.0 295.0,270.0 520.0,30.0\""),
            "{svg}"
        );
        assert!(svg.contains("a ping &amp; more"));
    }

    #[test]
    fn memory_has_a_panel_of_its_own_and_no_line_the_colour_of_another() {
        let figure = |name: &str, unit| Figure {
            name: name.to_owned(),
            unit,
            value: 2.0,
        };
        let times = (0..12).map(|number| figure(&format!("time {number}"), "s"));
        let others = [figure("memory", "MiB"), figure("not drawn", "/s")];
        let all = [Measured {
            count: 100,
            figures: times.chain(others).collect(),
            faults: Vec::new(),
        }];
        let svg = svg(&all);
        let (times, others) = svg.split_once("translate(0 560)").unwrap();
        assert!(
            others.contains("memory, MiB") && !svg.contains("not drawn"),
            "{svg}"
        );
        let strokes = times
            .split("stroke=\"")
            .skip(1)
            .filter_map(|rest| rest.split('"').next());
        let mut strokes: Vec<&str> = strokes.filter(|colour| *colour != "#ddd").collect();
        strokes.sort_unstable();
        strokes.dedup();
        assert_eq!(strokes.len(), 12, "{times}");
    }
}
