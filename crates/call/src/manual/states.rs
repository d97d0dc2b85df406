//! Examples of the states that people use most, as they stand in an SLS file.

/// The states with their examples, in the order of their names.
pub const STATE_EXAMPLES: &[(&str, &str)] = &[
    (
        "archive.extracted",
        "/opt/app:\n  archive.extracted:\n    - source: salt://app/app.tar.gz\n    - enforce_toplevel: false\n",
    ),
    (
        "cmd.run",
        "reload the app:\n  cmd.run:\n    - name: /opt/app/bin/reload\n    - unless: /opt/app/bin/is-fresh\n    - runas: app\n",
    ),
    (
        "cmd.script",
        "set the app up:\n  cmd.script:\n    - source: salt://app/setup.sh\n    - creates: /opt/app/.done\n",
    ),
    (
        "cron.present",
        "/opt/app/bin/clean:\n  cron.present:\n    - user: app\n    - minute: 15\n    - hour: 3\n    - identifier: clean\n",
    ),
    (
        "file.absent",
        "/etc/nginx/sites-enabled/default:\n  file.absent: []\n",
    ),
    (
        "file.append",
        "/etc/hosts:\n  file.append:\n    - text: 10.0.0.5 db\n",
    ),
    (
        "file.blockreplace",
        "/etc/hosts:\n  file.blockreplace:\n    - marker_start: '# begin app'\n    - marker_end: '# end app'\n    - content: 10.0.0.5 db\n    - append_if_not_found: true\n",
    ),
    (
        "file.directory",
        "/srv/app:\n  file.directory:\n    - user: app\n    - group: app\n    - mode: '0750'\n    - makedirs: true\n",
    ),
    (
        "file.line",
        "/etc/app.conf:\n  file.line:\n    - mode: ensure\n    - content: port = 8080\n    - after: '[server]'\n",
    ),
    (
        "file.managed",
        "/etc/app.conf:\n  file.managed:\n    - source: salt://app/app.conf.jinja\n    - template: jinja\n    - context:\n        port: 8080\n    - user: root\n    - group: root\n    - mode: '0644'\n",
    ),
    (
        "file.recurse",
        "/srv/www:\n  file.recurse:\n    - source: salt://www\n    - file_mode: '0644'\n    - clean: true\n",
    ),
    (
        "file.replace",
        "/etc/ssh/sshd_config:\n  file.replace:\n    - pattern: '^#?PermitRootLogin .*'\n    - repl: PermitRootLogin no\n    - append_if_not_found: true\n",
    ),
    (
        "file.symlink",
        "/usr/local/bin/app:\n  file.symlink:\n    - target: /opt/app/bin/app\n",
    ),
    (
        "git.latest",
        "https://example.org/app.git:\n  git.latest:\n    - target: /opt/app\n    - rev: main\n    - user: app\n",
    ),
    (
        "group.present",
        "app:\n  group.present:\n    - gid: 980\n    - system: true\n",
    ),
    ("host.present", "db:\n  host.present:\n    - ip: 10.0.0.5\n"),
    (
        "mount.mounted",
        "/srv/data:\n  mount.mounted:\n    - device: /dev/vdb1\n    - fstype: ext4\n    - mkmnt: true\n",
    ),
    (
        "pkg.installed",
        "web server:\n  pkg.installed:\n    - pkgs:\n      - nginx\n      - curl: 7.88.1-10\n    - refresh: true\n",
    ),
    ("pkg.latest", "openssl:\n  pkg.latest: []\n"),
    ("pkg.removed", "telnetd:\n  pkg.removed: []\n"),
    (
        "pkgrepo.managed",
        "app repository:\n  pkgrepo.managed:\n    - name: deb [signed-by=/etc/apt/keyrings/app.gpg] https://example.org/debian stable main\n    - file: /etc/apt/sources.list.d/app.list\n",
    ),
    (
        "service.dead",
        "avahi-daemon:\n  service.dead:\n    - enable: false\n",
    ),
    (
        "service.running",
        "nginx:\n  service.running:\n    - enable: true\n    - reload: true\n",
    ),
    (
        "ssh_auth.present",
        "deploy key:\n  ssh_auth.present:\n    - name: AAAAC3NzaC1lZDI1NTE5AAAAIPqk\n    - enc: ssh-ed25519\n    - user: app\n",
    ),
    (
        "sysctl.present",
        "net.ipv4.ip_forward:\n  sysctl.present:\n    - value: 1\n",
    ),
    (
        "user.present",
        "app:\n  user.present:\n    - shell: /usr/sbin/nologin\n    - home: /srv/app\n    - groups:\n      - www-data\n    - remove_groups: false\n",
    ),
];

/// The example of a state, if there is one.
pub(crate) fn example(state: &str) -> Option<&'static str> {
    let at = STATE_EXAMPLES
        .binary_search_by(|(name, _)| (*name).cmp(state))
        .ok()?;
    STATE_EXAMPLES.get(at).map(|(_, example)| *example)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_in_the_order_of_their_states() {
        assert!(STATE_EXAMPLES.is_sorted_by_key(|(name, _)| *name));
        assert!(example("file.managed").is_some() && example("no.such").is_none());
    }
}
