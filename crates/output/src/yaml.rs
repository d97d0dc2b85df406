//! YAML as Salt's dumper writes it (`salt/output/yaml_out.py`, 3008.5).

use halite_proto::Value;
use halite_yaml::{DumpOptions, dump};

use crate::Indent;

pub(crate) fn render(data: &Value, indent: Indent) -> String {
    let options = match indent {
        Indent::Unset => DumpOptions::block(),
        Indent::Spaces(spaces) => DumpOptions {
            indent: i32::try_from(spaces).unwrap_or(i32::MAX),
            ..DumpOptions::block()
        },
        Indent::Pretty => DumpOptions {
            indent: 4,
            ..DumpOptions::block()
        },
        Indent::Compact => DumpOptions::flow(),
    };
    dump(data, options)
}
