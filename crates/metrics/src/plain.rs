//! Prometheus' text format (0.0.4), made of a page of OpenMetrics, for programs that do
//! not read that.
//!
//! Invariant: only comments differ. A counter's comments have the name of its samples,
//! with `_total`, and there are no units and no end.

use std::fmt::Write as _;

/// The name of a page's format.
pub(crate) const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

const MEDIA_TYPE: &str = "application/openmetrics-text";

/// Whether a client reads OpenMetrics, by its header `Accept`.
pub(crate) fn accepts_open_metrics(accept: Option<&str>) -> bool {
    let mut ranges = accept.unwrap_or_default().split(',');
    ranges.any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let is_named = parts
            .next()
            .is_some_and(|name| name.eq_ignore_ascii_case(MEDIA_TYPE));
        let weight = parts.find_map(|part| part.strip_prefix("q="));
        is_named && weight.is_none_or(|weight| weight.parse().is_ok_and(|weight: f32| weight > 0.0))
    })
}

/// The page in the older format.
pub(crate) fn from_open_metrics(page: &str) -> String {
    let mut plain = String::with_capacity(page.len());
    // It stands in front of the type, on which its name depends.
    let mut help = None;
    for line in page.lines() {
        if let Some(told) = line.strip_prefix("# HELP ") {
            help = told.split_once(' ').map(|(_, words)| words);
        } else if let Some(told) = line.strip_prefix("# TYPE ") {
            describe(&mut plain, told, help.take());
        } else if !line.starts_with('#') {
            plain.push_str(line);
            plain.push('\n');
        }
    }
    plain
}

/// The comments of a metric, of the rest of its line with the type.
fn describe(plain: &mut String, told: &str, help: Option<&str>) {
    let Some((name, kind)) = told.split_once(' ') else {
        return;
    };
    let suffix = if kind == "counter" { "_total" } else { "" };
    let kind = if kind == "unknown" { "untyped" } else { kind };
    // Writing to a string does not fail.
    if let Some(help) = help {
        let _ = writeln!(plain, "# HELP {name}{suffix} {help}");
    }
    let _ = writeln!(plain, "# TYPE {name}{suffix} {kind}");
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Instruments, MetricsSettings};

    #[test]
    fn comments_name_the_samples_and_samples_stay() {
        let mut instruments = Instruments::new(&MetricsSettings::for_test());
        instruments.total("halite.lost", "Lost", || 7);
        instruments.gauge("halite.there", "There", || 1.0);
        let times = instruments.timing("halite.took", "Times", "cmd");
        times.add("a", Duration::from_micros(700));
        let page = instruments.page().unwrap();
        let plain = from_open_metrics(&page);
        for lines in [
            "# HELP halite_lost_total Lost\n# TYPE halite_lost_total counter\nhalite_lost_total 7\n",
            "# TYPE halite_there gauge\nhalite_there 1.0\n",
            "# TYPE halite_took_milliseconds histogram\n",
            "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total ",
        ] {
            assert!(plain.contains(lines), "{lines} is not in {plain}");
        }
        assert!(
            page.contains("# UNIT ") && page.ends_with("# EOF\n"),
            "{page}"
        );
        assert!(
            !plain.contains("# UNIT") && !plain.contains("# EOF"),
            "{plain}"
        );
        let samples = |text: &str| -> Vec<String> {
            let lines = text.lines().filter(|line| !line.starts_with('#'));
            let measured = |line: &&str| !line.contains("process_");
            lines.filter(measured).map(str::to_owned).collect()
        };
        assert_eq!(samples(&plain), samples(&page));
    }

    #[test]
    fn who_does_not_ask_for_open_metrics_does_not_get_it() {
        let of_prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,\
                             text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        assert!(accepts_open_metrics(Some(of_prometheus)));
        assert!(accepts_open_metrics(Some("application/openmetrics-text")));
        for accept in [None, Some("*/*"), Some("text/plain; version=0.0.4")] {
            assert!(!accepts_open_metrics(accept), "{accept:?}");
        }
        let refused = "application/openmetrics-text; q=0, text/plain";
        assert!(!accepts_open_metrics(Some(refused)));
    }
}
