//! Draws the measurements over the number of minions: both axes are logarithmic, so
//! that linear growth is a straight slope.

use super::measure::Measured;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 560.0;
const LEFT: f64 = 70.0;
const TOP: f64 = 30.0;
/// The names of the lines are right of it.
const RIGHT: f64 = 520.0;
const BOTTOM: f64 = 510.0;

const COLOURS: [&str; 8] = [
    "#1b6ca8", "#c0392b", "#27824a", "#8e44ad", "#b9770e", "#16858a", "#5d6d7e", "#a0306e",
];

/// Lines that are drawn: times, which have one scale.
const UNIT: &str = "s";

/// The drawing.
pub(super) fn svg(all: &[Measured]) -> String {
    let lines = lines(all);
    let values = || lines.iter().flat_map(|(_, points)| points.iter());
    let x = Scale::over(values().map(|(count, _)| *count), LEFT, RIGHT);
    let y = Scale::over(values().map(|(_, value)| *value), BOTTOM, TOP);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
    );
    for (value, at) in x.tens() {
        svg.push_str(&rule(at, TOP, at, BOTTOM));
        svg.push_str(&text(at - 15.0, BOTTOM + 20.0, "#333", &value.to_string()));
    }
    for (value, at) in y.tens() {
        svg.push_str(&rule(LEFT, at, RIGHT, at));
        svg.push_str(&text(10.0, at + 4.0, "#333", &format!("{value} s")));
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
    svg.push_str("</svg>\n");
    svg
}

type Line<'m> = (&'m str, Vec<(f64, f64)>);

/// Each time that was measured, over the number of minions.
fn lines(all: &[Measured]) -> Vec<Line<'_>> {
    let first = all.first().map(|first| first.figures.as_slice());
    let figures = first.unwrap_or_default().iter().enumerate();
    figures
        .filter(|(_, figure)| figure.unit == UNIT)
        .map(|(at, figure)| {
            let points = all.iter().filter_map(|measured| {
                let value = measured.figures.get(at)?.value;
                (value > 0.0).then_some((f64::from(measured.count), value))
            });
            (figure.name, points.collect())
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
                name: "a ping & more",
                unit: UNIT,
                value,
            }],
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
}
