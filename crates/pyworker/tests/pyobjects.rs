//! States that Python code declares with the objects of `pyobjects`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::path::PathBuf;

use halite_proto::{Map, Value};
use halite_pyworker::{PyError, PyHost, Raised, Request, Workers};

/// A file server with some files, and the names of a few state functions.
struct Host {
    files: tempfile::TempDir,
}

impl Host {
    fn new() -> Option<Self> {
        if !halite_test_support::have_programs(&["python3"]) {
            return None;
        }
        let files = tempfile::tempdir().unwrap();
        Some(Self { files })
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.files.path().join(name), text).unwrap();
    }

    fn objects(&self, source: &str) -> Result<Value, PyError> {
        let request = Request::Objects {
            source,
            path: "/srv/salt/x.sls",
            names: &Map::from([("sls", "x"), ("saltenv", "base")]),
        };
        Workers::global().run(self, request)
    }

    fn error(&self, source: &str) -> (String, String) {
        match self.objects(source) {
            Err(PyError::Raised(raised)) => (raised.class_name().to_owned(), raised.message),
            other => panic!("{other:?}"),
        }
    }
}

impl PyHost for Host {
    fn data(&self, name: &str) -> Value {
        match name {
            "grains" => Map::from([("os_family", "Debian"), ("os", "Ubuntu")]).into(),
            _ => Map::new().into(),
        }
    }

    fn directories(&self, _kind: &str) -> Vec<PathBuf> {
        Vec::new()
    }

    fn has_function(&self, fun: &str) -> bool {
        matches!(
            fun,
            "sys.list_state_functions" | "cp.cache_file" | "pillar.get"
        )
    }

    fn call(&self, fun: &str, args: Vec<Value>, _kwargs: Map) -> Result<Value, Raised> {
        let first = args.first().and_then(Value::as_str).unwrap_or_default();
        Ok(match fun {
            "sys.list_state_functions" => {
                let names = "file.absent file.managed pkg.installed service.enabled \
                             service.running ssh_auth.present";
                Value::List(names.split_whitespace().map(Value::from).collect())
            }
            "cp.cache_file" => {
                let path = self.files.path().join(first.trim_start_matches("salt://"));
                match path.is_file() {
                    true => path.to_str().unwrap().into(),
                    false => false.into(),
                }
            }
            _ => Map::from([("client", "from-pillar")]).into(),
        })
    }
}

const MAP: &str = "\
class Samba(Map):
    merge = 'samba:lookup'
    priority = ('os_family', 'os')
    class Ubuntu:
        __grain__ = 'os'
        service = 'smbd'
    class Debian:
        server = 'samba'
        client = 'samba-client'
        service = 'samba'
    class Rhel:
        __match__ = 'RedHat'
        service = 'smb'
number = 7
File.absent('/of/the/import')
";

const SLS: &str = "\
#!pyobjects
import salt://map.sls
from salt://map.sls import Samba, number as n
include('http', 'other')
with Pkg.installed('nginx', names=[Samba.server, Samba.client]):
    Service.running('nginx', enable=True, watch=File('/etc/x'), order=n)
    with File('/a', 'watch'):
        Service.enabled('nginx')
Service.running(extend('apache'), watch=[{'file': '/etc/y'}, File('/z')])
for i in range(2):
    SshAuth.present('k%d' % i, name=map.Samba.service, require_in=Pkg('q'), comment=__sls__)
";

const DATA: &str = r#"{
"nginx": {
  "pkg.installed": [{"names": ["samba", "from-pillar"]}],
  "service.running": [{"enable": true}, {"order": 7}, {"require": [{"pkg": "nginx"}]}, {"watch": [{"file": "/etc/x"}]}],
  "service.enabled": [{"require": [{"pkg": "nginx"}]}, {"watch": [{"file": "/a"}]}]
},
"k0": {"ssh_auth.present": [{"comment": "x"}, {"name": "smbd"}, {"require_in": [{"pkg": "q"}]}]},
"k1": {"ssh_auth.present": [{"comment": "x"}, {"name": "smbd"}, {"require_in": [{"pkg": "q"}]}]},
"include": ["http", "other"],
"extend": {"apache": {"service.running": [{"watch": [{"file": "/etc/y"}, {"file": "/z"}]}]}}
}"#;

#[test]
fn code_declares_states_with_requisites_maps_and_imports() {
    let Some(host) = Host::new() else { return };
    host.write("map.sls", MAP);
    let data = host.objects(SLS).unwrap();
    let source = format!("import json\ndef run(): return json.loads(r'''{DATA}''')\n");
    let expected = Request::Code {
        source: &source,
        path: "/srv/salt/expected.sls",
        names: &Map::new(),
    };
    assert_eq!(data, Workers::global().run(&host, expected).unwrap());
}

#[test]
fn mistakes_are_named_as_salt_names_them() {
    let Some(host) = Host::new() else { return };
    host.write("map.sls", MAP);
    host.write("round.sls", "import salt://round.sls\n");
    for (source, class, message) in [
        (
            "File.managd('/x')",
            "salt.utils.pyobjects.InvalidFunction",
            "The function 'managd' does not exist in the StateFactory for 'file'",
        ),
        ("Nope.x('/x')", "NameError", "name 'Nope' is not defined"),
        (
            "File.absent('/x')\nFile.absent('/x')",
            "salt.utils.pyobjects.DuplicateState",
            "A state with id ''/x'', type ''file.absent'' exists",
        ),
        (
            "import salt://none.sls",
            "ImportError",
            "Could not find the file 'salt://none.sls'",
        ),
        (
            "from salt://map.sls import x",
            "ImportError",
            "'x' was not found in 'salt://map.sls'",
        ),
        (
            "import salt://round.sls",
            "ImportError",
            "files import each other more than 20 deep",
        ),
    ] {
        let expected = (class.to_owned(), message.to_owned());
        assert_eq!(host.error(source), expected, "{source}");
    }
}
