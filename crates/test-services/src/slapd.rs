//! OpenLDAP's server, with a suffix `dc=x` and the entries that a test wants.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::install::find_for_test;
use crate::place::{free_port, give_away};
use crate::server::{Launch, Ready, Server, StopSignal, run, write_file};

/// Where Debian has the schemas, and those that users and groups need.
const SCHEMAS: &str = "/etc/ldap/schema";
const NEEDED: [&str; 4] = ["core", "cosine", "nis", "inetorgperson"];

/// Who may read everything, and the password.
const FINDER: [&str; 2] = ["cn=salt,dc=x", "saltpw"];

/// What every directory has.
const BASE: &str = "\
dn: dc=x
objectClass: dcObject
objectClass: organization
dc: x
o: x

dn: ou=Users,dc=x
objectClass: organizationalUnit
ou: Users

dn: ou=Groups,dc=x
objectClass: organizationalUnit
ou: Groups

dn: cn=salt,dc=x
objectClass: person
cn: salt
sn: salt
userPassword: saltpw
";

/// A directory.
#[derive(Debug)]
pub struct Slapd {
    /// Its process.
    pub server: Server,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Slapd {
    /// Starts one for a test with these entries, of which everybody else sees what
    /// `access` says (`read`, `none`); `None`, and reported, if it is not installed.
    ///
    /// # Panics
    /// When it does not start.
    #[allow(clippy::unwrap_used)]
    pub fn for_test(entries: &str, access: &str) -> Option<Self> {
        find_for_test(&["slapd", "slapadd"])?;
        Some(Self::start(entries, access).unwrap())
    }

    /// Starts one.
    ///
    /// # Errors
    /// When it is not installed or does not start.
    pub fn start(entries: &str, access: &str) -> Result<Self> {
        let address = free_port()?;
        let server = Server::new("slapd", |dir| {
            let config = lay(dir, entries, access)?;
            let listens = format!("ldap://{address}");
            Ok(Launch {
                program: "slapd",
                args: ["-d", "0", "-h", &listens, "-f", &config]
                    .map(str::to_owned)
                    .to_vec(),
                ready: Ready::Listens(address),
                stop: StopSignal::Term,
                as_root: false,
            })
        })?;
        server.start()?;
        Ok(Self { server, address })
    }

    /// The options with which a master asks it.
    pub fn options(&self) -> [(&'static str, String); 4] {
        [
            ("auth.ldap.uri", format!("ldap://{}", self.address)),
            ("auth.ldap.basedn", "dc=x".to_owned()),
            ("auth.ldap.binddn", FINDER[0].to_owned()),
            ("auth.ldap.bindpw", FINDER[1].to_owned()),
        ]
    }
}

/// Writes the configuration, and puts the entries into the database; the path of the
/// first.
fn lay(dir: &Path, entries: &str, access: &str) -> Result<String> {
    let place = dir.display();
    let schemas: String = NEEDED
        .iter()
        .map(|name| format!("include {SCHEMAS}/{name}.schema\n"))
        .collect();
    let text = format!(
        "{schemas}pidfile {place}/pid\ndatabase ldif\nsuffix dc=x\ndirectory {place}/db\n\
         access to attrs=userPassword by anonymous auth by * none\n\
         access to * by dn.exact=\"{}\" read by anonymous auth by * {access}\n",
        FINDER[0],
    );
    let database = dir.join("db");
    std::fs::create_dir(&database).context("no directory for a database")?;
    give_away(&database)?;
    let config = dir.join("slapd.conf");
    write_file(&config, &text)?;
    let config = config.display().to_string();
    run(
        "slapadd",
        &["-f", &config],
        dir,
        &format!("{BASE}\n{entries}"),
    )?;
    Ok(config)
}
