//! Lists of keys by state, as `salt-key` prints them (`salt/output/key.py`,
//! 3008.5).

use halite_proto::Value;

use crate::{Color, Palette, RenderOptions, Unfit, nested, python};

/// A state's name in the data, its headline, the colours of headline and ids.
const SECTIONS: [(&str, &str, Color, Color); 5] = [
    ("local", "Local Keys:", Color::LightMagenta, Color::Magenta),
    ("minions", "Accepted Keys:", Color::LightGreen, Color::Green),
    (
        "minions_denied",
        "Denied Keys:",
        Color::LightMagenta,
        Color::Magenta,
    ),
    (
        "minions_pre",
        "Unaccepted Keys:",
        Color::LightRed,
        Color::Red,
    ),
    (
        "minions_rejected",
        "Rejected Keys:",
        Color::LightBlue,
        Color::Blue,
    ),
];

pub(crate) fn render(data: &Value, options: &RenderOptions) -> Result<String, Unfit> {
    let palette = Palette::new(options.color);
    let map = data.as_map().ok_or(Unfit)?;
    let mut lines = Vec::new();
    for (state, keys) in python::sorted(map).ok_or(Unfit)? {
        let state = state.as_str().ok_or(Unfit)?;
        let section = SECTIONS.iter().find(|(name, ..)| *name == state);
        let (_, headline, headline_color, color) = *section.ok_or(Unfit)?;
        lines.push(format!(
            "{}{headline}{}",
            palette.start(headline_color),
            palette.end()
        ));
        let mut line = |id: &Value, text: Option<&Value>| {
            let mut shown = python::str(id);
            if options.strip_colors {
                shown = nested::strip_escapes(&shown);
            }
            if let Some(text) = text {
                shown.push_str(":  ");
                shown.push_str(&python::str(text));
            }
            lines.push(format!("{}{shown}{}", palette.start(color), palette.end()));
        };
        match keys {
            Value::List(ids) => {
                let mut ids: Vec<_> = ids.iter().collect();
                if !python::sort_by_key(&mut ids, |id| id) {
                    return Err(Unfit);
                }
                ids.into_iter().for_each(|id| line(id, None));
            }
            Value::Map(texts) => {
                for (id, text) in python::sorted(texts).ok_or(Unfit)? {
                    line(id, Some(text));
                }
            }
            _ => return Err(Unfit),
        }
    }
    Ok(lines.join("\n"))
}
