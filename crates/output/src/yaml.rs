//! YAML as PyYAML writes it (`salt/output/yaml_out.py`, 3008.5).

use halite_proto::Value;

use crate::Indent;

pub(crate) fn render(data: &Value, indent: Indent) -> String {
    let _ = (data, indent);
    String::new()
}
