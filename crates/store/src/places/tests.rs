//! Which options name which places.

use super::*;

#[cfg(feature = "postgres")]
#[test]
fn events_go_to_the_database_of_everything() {
    let place = |url: &str| event_place("store", &Map::from([("store", url)]));
    let found = place("postgres://db.example/salt").unwrap().unwrap();
    assert!(matches!(found, BackendOptions::Postgres(_)));
    for (url, why) in [("redis://h", "cannot store events"), ("", "is not set")] {
        let error = place(url).unwrap_err();
        assert_eq!(error.option, "event_return");
        assert!(error.why.contains(why), "{error}");
    }
    let opts = Map::new();
    assert!(event_place("redis", &opts).unwrap().is_none());
    assert!(event_place("pgjsonb", &opts).unwrap().is_some());
    assert!(event_place("own", &opts).unwrap().is_none());
}

fn places(opts: &[(&str, &str)]) -> Result<Places, PlaceError> {
    let names = opts.iter().map(|(name, _)| Value::from(*name)).collect();
    let mut opts: Map = opts
        .iter()
        .map(|(name, text)| (Value::from(*name), Value::from(*text)))
        .collect();
    opts.insert(NAMED_PLACES, Value::List(names));
    Places::from_opts(&opts, Path::new("/cache"), HashType::Sha256)
}

fn redis_of(place: &BackendOptions) -> Option<String> {
    match place {
        BackendOptions::Redis(options) => Some(options.address.to_string()),
        _ => None,
    }
}

#[test]
fn files_are_the_default() {
    let places = places(&[("cache", "localfs"), ("keys.cache_driver", "localfs_key")]).unwrap();
    let store = &places.store;
    for place in [&store.jobs, &store.data, &store.banks, &store.tokens] {
        assert_eq!(redis_of(place), None);
    }
    assert!(places.keys.is_none());
}

#[test]
fn one_url_sets_all_and_salts_options_win_for_theirs() {
    let url = ("store", "redis://one/1");
    let all = places(&[url]).unwrap();
    let store = &all.store;
    for place in [&store.jobs, &store.data, &store.banks, &store.tokens] {
        assert_eq!(redis_of(place).unwrap(), "redis://one:6379/1");
    }
    assert_eq!(redis_of(&all.keys.unwrap()).unwrap(), "redis://one:6379/1");
    let mixed = places(&[
        url,
        ("cache", "redis"),
        ("cache.redis.host", "two"),
        ("cache.redis.keys_prefix", "#K"),
        ("master_job_cache", "redis"),
        ("redis.host", "three"),
        ("redis.port", "6380"),
    ])
    .unwrap();
    assert_eq!(redis_of(&mixed.store.data).unwrap(), "redis://two:6379");
    assert_eq!(redis_of(&mixed.store.tokens).unwrap(), "redis://two:6379");
    assert_eq!(redis_of(&mixed.store.jobs).unwrap(), "redis://three:6380");
    let keys = redis_of(&mixed.keys.unwrap()).unwrap();
    assert_eq!(keys, "redis://one:6379/1");
    let BackendOptions::Redis(data) = &mixed.store.data else {
        panic!()
    };
    assert_eq!(data.names.keys, "#K_");
}

#[test]
fn files_that_are_named_for_one_role_win_too() {
    let is_in_files = |place: &BackendOptions| matches!(place, BackendOptions::LocalFs { .. });
    let url = ("store", "redis://one/1");
    for driver in ["localfs", "localfs_key"] {
        let keys = places(&[url, ("keys.cache_driver", driver)]).unwrap();
        assert!(keys.keys.is_none());
        assert!(redis_of(&keys.store.tokens).is_some());
    }
    let jobs = places(&[url, ("master_job_cache", "local_cache")]).unwrap();
    assert!(is_in_files(&jobs.store.jobs));
    assert!(redis_of(&jobs.store.data).is_some() && jobs.keys.is_some());
    let cache = ("cache", "redis");
    for of_all in [url, cache] {
        let tokens = places(&[of_all, ("eauth_tokens.cache_driver", "localfs")]).unwrap();
        assert!(is_in_files(&tokens.store.tokens));
        assert!(redis_of(&tokens.store.data).is_some());
    }
    // Tokens follow the cache, and keys do not.
    let data = places(&[url, ("cache", "localfs")]).unwrap();
    for place in [&data.store.data, &data.store.banks, &data.store.tokens] {
        assert!(is_in_files(place));
    }
    assert!(redis_of(&data.store.jobs).is_some() && data.keys.is_some());
    // Salt's defaults are no choice.
    let opts = Map::from([
        ("store", "redis://one/1"),
        ("cache", "localfs"),
        ("keys.cache_driver", "localfs_key"),
        ("master_job_cache", "local_cache"),
    ]);
    let all = Places::from_opts(&opts, Path::new("/cache"), HashType::Sha256).unwrap();
    let store = &all.store;
    for place in [&store.jobs, &store.data, &store.banks, &store.tokens] {
        assert!(redis_of(place).is_some());
    }
    assert!(all.keys.is_some());
    // An empty value says nothing.
    let empty = places(&[url, ("cache", ""), ("master_job_cache", "")]).unwrap();
    assert!(redis_of(&empty.store.data).is_some() && redis_of(&empty.store.jobs).is_some());
}

#[cfg(feature = "etcd")]
#[test]
fn an_etcd_keeps_everything_but_jobs() {
    let all = places(&[("store", "etcd://one/fleet?members=two")]).unwrap();
    let store = &all.store;
    assert!(matches!(store.jobs, BackendOptions::LocalFs { .. }));
    let keys = all.keys.unwrap();
    for place in [&store.data, &store.banks, &store.tokens, &keys] {
        assert_eq!(place.status().place, "etcd://one:2379/fleet");
    }
}

#[test]
fn copies_for_older_programs_are_in_files_only() {
    let layout = ("minion_data_layout", "3006");
    let copies = |opts: &[(&str, &str)]| {
        let BackendOptions::LocalFs {
            copies_for_3006, ..
        } = places(opts)?.store.data
        else {
            panic!("not in files")
        };
        Ok::<bool, PlaceError>(copies_for_3006)
    };
    assert!(!copies(&[]).unwrap());
    assert!(!copies(&[("minion_data_layout", "3008")]).unwrap());
    assert!(copies(&[layout]).unwrap());
    // Jobs elsewhere do not matter.
    let jobs = [
        ("master_job_cache", "redis"),
        ("redis.host", "h"),
        ("redis.port", "1"),
    ];
    assert!(copies(&[layout, jobs[0], jobs[1], jobs[2]]).unwrap());
    for elsewhere in [("store", "redis://h/1"), ("cache", "redis")] {
        let error = copies(&[layout, elsewhere]).unwrap_err();
        assert_eq!(error.option, "minion_data_layout");
        assert!(error.why.contains("at redis://"), "{error}");
    }
}

#[test]
fn what_is_not_there_is_refused_with_the_reason() {
    for (name, text, why) in [
        ("store", "sqlite:///x", "is not the scheme of a store"),
        ("store", "nonsense", "like redis://host"),
        ("cache", "consul", "512 KiB"),
        ("cache", "memcached", "unknown cache memcached"),
        (
            "eauth_tokens",
            "rediscluster",
            "set eauth_tokens.cache_driver",
        ),
    ] {
        let error = places(&[(name, text)]).unwrap_err();
        assert_eq!(error.option, name);
        assert!(error.to_string().contains(why), "{error}");
    }
    let error = places(&[("cache", "redis"), ("cache.redis.port", "x")]).unwrap_err();
    assert!(error.to_string().contains("is not a port"), "{error}");
    let equal = [
        ("cache", "redis"),
        ("cache.redis.timestamp_prefix", "$KEYS"),
    ];
    let error = places(&equal).unwrap_err();
    assert!(error.to_string().contains("must differ"), "{error}");
    #[cfg(feature = "etcd")]
    {
        for prefix in ["", "/", "//"] {
            let error = places(&[("cache", "etcd"), ("etcd.path_prefix", prefix)]);
            let error = error.unwrap_err();
            assert!(error.to_string().contains("not be empty"), "{error}");
        }
    }
    let error = places(&[("store", "redis://h?password_file=/nowhere")]).unwrap_err();
    assert!(error.to_string().contains("/nowhere"), "{error}");
}
