//! Logins with a real directory: OpenLDAP's.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use halite_ldap::Directory;
use halite_proto::{Map, Value};
use halite_test_support::have_programs;

const PATIENCE: Duration = Duration::from_secs(30);

const ENTRIES: &str = "\
dn: dc=x
objectClass: dcObject
objectClass: organization
dc: x
o: x

dn: ou=Users,dc=x
objectClass: organizationalUnit
ou: Users

dn: cn=salt,dc=x
objectClass: person
cn: salt
sn: salt
userPassword: saltpw

dn: uid=bob,ou=Users,dc=x
objectClass: inetOrgPerson
uid: bob
cn: Bob
sn: Bob
userPassword: sesame
";

/// A server with these entries, until it is dropped.
struct Server {
    child: Child,
    address: SocketAddr,
    _dir: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// Starts one; `access` is what users see of entries.
    fn start(access: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let config = configuration(dir.path(), access);
        let address = {
            let free = TcpListener::bind("127.0.0.1:0").unwrap();
            free.local_addr().unwrap()
        };
        let child = Command::new("slapd")
            .args(["-d", "0", "-h", &format!("ldap://{address}"), "-f", &config])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut server = Self {
            child,
            address,
            _dir: dir,
        };
        let until = Instant::now() + PATIENCE;
        while TcpStream::connect(address).is_err() {
            assert!(server.child.try_wait().unwrap().is_none(), "slapd ended");
            assert!(Instant::now() < until, "slapd does not listen");
            thread::sleep(Duration::from_millis(10));
        }
        server
    }

    fn directory(&self, more: &[(&str, &str)]) -> Directory {
        let mut opts = Map::from([
            (
                "auth.ldap.uri",
                Value::from(format!("ldap://{}", self.address)),
            ),
            ("auth.ldap.basedn", "dc=x".into()),
        ]);
        for (name, value) in more {
            opts.insert(format!("auth.ldap.{name}"), *value);
        }
        Directory::from_options(&opts).unwrap()
    }
}

/// Writes the configuration and the entries; the path of the first.
fn configuration(dir: &Path, access: &str) -> String {
    fs::create_dir(dir.join("db")).unwrap();
    let schemas: String = ["core", "cosine", "inetorgperson"]
        .iter()
        .map(|name| format!("include /etc/ldap/schema/{name}.schema\n"))
        .collect();
    let text = format!(
        "{schemas}pidfile {0}/pid\ndatabase ldif\nsuffix dc=x\ndirectory {0}/db\n\
         access to attrs=userPassword by anonymous auth by * none\n\
         access to * by dn.exact=\"cn=salt,dc=x\" read by anonymous auth by * {access}\n",
        dir.display()
    );
    let config = dir.join("slapd.conf");
    fs::write(&config, text).unwrap();
    let entries = dir.join("entries.ldif");
    fs::write(&entries, ENTRIES).unwrap();
    let added = Command::new("slapadd")
        .args([
            "-f".as_ref(),
            config.as_os_str(),
            "-l".as_ref(),
            entries.as_os_str(),
        ])
        .output()
        .unwrap();
    assert!(added.status.success(), "{added:?}");
    config.display().to_string()
}

/// Names that OpenLDAP takes for `bob`.
const ALIASES: [&str; 4] = ["BOB", "Bob", "b\u{ad}ob", "bob\u{200b}"];

#[test]
fn a_real_directory_lets_in_one_spelling() {
    if !have_programs(&["slapd", "slapadd"]) {
        return;
    }
    let found = [
        ("binddn", "cn=salt,dc=x"),
        ("bindpw", "saltpw"),
        ("filter", "uid={{ username }}"),
    ];
    let known = [("binddn", "uid={{ username }},ou=Users,dc=x")];
    // A user may see the own entry, or nothing at all.
    for access in ["read", "none"] {
        let server = Server::start(access);
        for options in [&found[..], &known] {
            let directory = server.directory(options);
            let lets_in = |name: &str| {
                let groups = directory.log_in(name, "sesame", false).unwrap();
                groups.is_some()
            };
            assert!(lets_in("bob"), "{access} {options:?}");
            for alias in ALIASES {
                assert!(!lets_in(alias), "{alias:?} {access} {options:?}");
            }
            let wrong = directory.log_in("bob", "open", false).unwrap();
            assert!(wrong.is_none());
        }
    }
}
