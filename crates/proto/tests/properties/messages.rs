use halite_proto::auth::{AuthAnswer, AuthGrant, AuthRefusal, AuthReply, AuthRequest};
use halite_proto::clear::{ClearCommand, Credentials, PublishReply, PublishRequest};
use halite_proto::envelope::RequestEnvelope;
use halite_proto::msgpack::{pack_wire, unpack_wire};
use halite_proto::pillar::{PillarData, PillarReply, SignedPillar};
use halite_proto::publish::{Publication, PublishLoad};
use halite_proto::request::{
    Batches, Commits, EventBody, FileList, FilePath, FileRecv, FiredEvent, MasterOpts, MasterTops,
    MineDelete, MineGet, MineStore, MinionEvent, MinionRequest, MinionRunner, PeerPublish,
    PillarRequest, PubRet, PushId, RegisterResources, Request, RequestMeta, RevokeAuth,
    ServeBeyond, ServeFile, SyndicJob, SyndicReturn,
};
use halite_proto::returns::{JobReturn, ReturnJid};
use halite_proto::{Map, Nonce, Value};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

use crate::given::{
    binary, extra, fun, jid, list, map, minion_id, nonce, present, saltenv, tag, tgt, value,
};

fn text() -> impl Strategy<Value = String> {
    any::<String>()
}

prop_compose! {
    fn job_return()(
        jid in prop_oneof![
            jid().prop_map(ReturnJid::Jid),
            Just(ReturnJid::Req),
            Just(ReturnJid::NoCache),
        ],
        fun in fun(),
        fun_args in list(),
        ret in value(),
        (retcode, success) in any::<(i64, bool)>(),
        user in of(text()),
        master_id in of(text()),
        metadata in of(present()),
        out in of(text()),
        schedule in of(text()),
        extra in extra(),
    ) -> JobReturn {
        JobReturn {
            success, user, master_id, metadata, out, schedule, extra,
            ..JobReturn::new(jid, fun, fun_args, ret, retcode)
        }
    }
}

prop_compose! {
    fn publish_load()(
        (fun, arg, tgt, jid) in (fun(), list(), tgt(), jid()),
        (tgt_type, ret) in (text(), text()),
        (master_id, delimiter, id, user) in (of(text()), of(text()), of(text()), of(text())),
        (to, ret_config, metadata, module_executors) in
            (of(present()), of(present()), of(present()), of(present())),
        (executor_opts, ret_kwargs, start_event, auth_list) in
            (of(present()), of(present()), of(present()), of(present())),
        extra in extra(),
        serial in of(any::<u64>()),
    ) -> PublishLoad {
        PublishLoad {
            ret, master_id, delimiter, id, user, to, ret_config, metadata, module_executors,
            executor_opts, ret_kwargs, start_event, auth_list, extra, serial,
            ..PublishLoad::new(fun, arg, tgt, &tgt_type, jid)
        }
    }
}

prop_compose! {
    fn pillar_request()(
        grains in map(),
        saltenv in of(text()),
        pillarenv in of(text()),
        pillar_override in map(),
        extra_minion_data in map(),
        ver in of(text()),
        clean_cache in of(any::<bool>()),
        ext in of(present()),
    ) -> PillarRequest {
        PillarRequest {
            grains, saltenv, pillarenv, pillar_override, extra_minion_data, ver, clean_cache, ext,
        }
    }
}

prop_compose! {
    fn peer()(
        fun in text(),
        arg in present(),
        tgt in tgt(),
        (tgt_type, ret, form) in (of(text()), of(text()), of(text())),
        (tmo, no_parse) in (of(present()), of(present())),
    ) -> PeerPublish {
        PeerPublish { fun, arg, tgt, tgt_type, ret, tmo, form, no_parse }
    }
}

prop_compose! {
    fn syndic_job()(
        id in of(text()),
        jid in jid(),
        (fun, arg, tgt, tgt_type) in (value(), value(), value(), value()),
        load in of(map()),
        returns in map(),
        master_id in of(text()),
        extra in extra(),
    ) -> SyndicJob {
        SyndicJob { id, jid, fun, arg, tgt, tgt_type, load, returns, master_id, extra }
    }
}

prop_compose! {
    fn commits()(
        envs in prop::collection::btree_map(saltenv(), prop::collection::btree_map(text(), text(), 0..3), 0..3),
    ) -> Commits {
        let mut commits = Commits::default();
        for (env, of_env) in envs {
            commits.insert(env, of_env);
        }
        commits
    }
}

prop_compose! {
    fn file_path()(path in text(), saltenv in of(saltenv()), commits in commits()) -> FilePath {
        FilePath { path, saltenv, commits }
    }
}

prop_compose! {
    fn file_list()(
        saltenv in of(saltenv()),
        prefix in of(text()),
        fsbackend in of(present()),
        commits in commits(),
    ) -> FileList {
        FileList { saltenv, prefix, fsbackend, commits }
    }
}

fn minion_event() -> impl Strategy<Value = MinionEvent> {
    let fired = || (tag(), value()).prop_map(|(tag, data)| FiredEvent { tag, data });
    let body = prop_oneof![
        fired().prop_map(EventBody::One),
        vec(fired(), 0..3).prop_map(EventBody::Many),
    ];
    let numbers = vec(any::<u64>(), 0..3);
    let batches = (any::<[u8; 16]>(), numbers).prop_map(|(process, numbers)| Batches {
        process: Nonce::from_random(process),
        numbers,
    });
    let parts = (of(value()), body, of(map()), of(batches));
    parts.prop_map(|(pretag, body, grains, batches)| MinionEvent {
        pretag,
        body,
        grains,
        batches,
    })
}

fn serve_beyond() -> impl Strategy<Value = ServeBeyond> {
    let unless = of((text(), text()));
    (unless, any::<bool>(), of(any::<u64>()), any::<bool>()).prop_map(
        |(unless, hash, bytes, large)| ServeBeyond {
            unless,
            hash,
            bytes,
            large,
        },
    )
}

fn file_command() -> impl Strategy<Value = MinionRequest> {
    prop_oneof![
        file_path().prop_map(MinionRequest::FileHash),
        file_path().prop_map(MinionRequest::FileHashAndStat),
        file_path().prop_map(MinionRequest::FileFind),
        file_list().prop_map(MinionRequest::FileList),
        file_list().prop_map(MinionRequest::FileListEmptydirs),
        file_list().prop_map(MinionRequest::DirList),
        file_list().prop_map(MinionRequest::SymlinkList),
        Just(MinionRequest::FileEnvs),
        (
            file_path(),
            any::<u64>(),
            of(any::<i64>()),
            of(serve_beyond())
        )
            .prop_map(
                |(file, loc, gzip, beyond)| MinionRequest::ServeFile(ServeFile {
                    file,
                    loc,
                    gzip,
                    beyond
                })
            ),
        (
            vec(text(), 0..4),
            of(any::<u64>()),
            any::<u64>(),
            vec(any::<u8>(), 0..99),
            of((text(), any::<u64>()))
        )
            .prop_map(|(path, size, loc, data, push)| {
                MinionRequest::FileRecv(FileRecv {
                    path,
                    size,
                    loc,
                    data,
                    push: push.map(|(id, attempt)| PushId { id, attempt }),
                })
            }),
    ]
}

fn other_command() -> impl Strategy<Value = MinionRequest> {
    prop_oneof![
        job_return().prop_map(|job| MinionRequest::Return(Box::new(job))),
        minion_event().prop_map(MinionRequest::MinionEvent),
        pillar_request().prop_map(|pillar| MinionRequest::Pillar(Box::new(pillar))),
        (map(), any::<bool>())
            .prop_map(|(data, clear)| MinionRequest::Mine(MineStore { data, clear })),
        (tgt(), tgt(), of(text())).prop_map(|(tgt, fun, tgt_type)| {
            MinionRequest::MineGet(MineGet { tgt, fun, tgt_type })
        }),
        text().prop_map(|fun| MinionRequest::MineDelete(MineDelete { fun })),
        Just(MinionRequest::MineFlush),
        any::<bool>().prop_map(|env_only| MinionRequest::MasterOpts(MasterOpts { env_only })),
        map().prop_map(|opts| MinionRequest::MasterTops(MasterTops { opts })),
        (map(), map()).prop_map(|(resources, resource_grains)| {
            MinionRequest::RegisterResources(RegisterResources {
                resources,
                resource_grains,
            })
        }),
        vec(syndic_job(), 0..3).prop_map(|jobs| MinionRequest::SyndicReturn(SyndicReturn { jobs })),
        peer().prop_map(MinionRequest::MinionPub),
        peer().prop_map(MinionRequest::MinionPublish),
        jid().prop_map(|jid| MinionRequest::PubRet(PubRet { jid })),
        (text(), present(), of(present()), of(present())).prop_map(|(fun, arg, tmo, no_parse)| {
            MinionRequest::MinionRunner(MinionRunner {
                fun,
                arg,
                tmo,
                no_parse,
            })
        }),
        any::<bool>().prop_map(|preserve_minion_cache| {
            MinionRequest::RevokeAuth(RevokeAuth {
                preserve_minion_cache,
            })
        }),
        extra().prop_map(MinionRequest::VerifyMinion),
        (of("x_[a-z]{1,9}"), extra())
            .prop_map(|(cmd, fields)| MinionRequest::Unknown { cmd, fields }),
    ]
}

prop_compose! {
    fn request()(
        id in minion_id(),
        nonce in of(nonce()),
        ts in of(any::<i64>()),
        tok in of(binary()),
        command in prop_oneof![file_command(), other_command()],
        extra in extra(),
    ) -> Request {
        // These keep what they do not know themselves.
        let extra = match &command {
            MinionRequest::Return(_)
            | MinionRequest::VerifyMinion(_)
            | MinionRequest::Unknown { .. } => Map::new(),
            _ => extra,
        };
        Request { meta: RequestMeta { id, nonce, ts, tok, sig: None }, command, extra }
    }
}

prop_compose! {
    fn auth_request()(
        id in minion_id(),
        nonce in of(nonce()),
        (enc_algo, sig_algo, public_key) in (text(), text(), text()),
        autosign_grains in of(map()),
        token in of(binary()),
        extra in extra(),
    ) -> AuthRequest {
        AuthRequest { id, nonce, enc_algo, sig_algo, autosign_grains, token, public_key, extra }
    }
}

prop_compose! {
    fn auth_grant()(
        public_key in text(),
        publish_port in any::<u16>(),
        pub_sig in of(text()),
        token in of(binary()),
        (aes, session, sig) in (binary(), binary(), binary()),
        nonce in of(nonce()),
        extra in extra(),
    ) -> AuthGrant {
        AuthGrant { public_key, publish_port, pub_sig, token, aes, session, sig, nonce, extra }
    }
}

fn auth_reply() -> impl Strategy<Value = AuthReply> {
    let refusal = prop_oneof![
        Just(AuthRefusal::Rejected),
        Just(AuthRefusal::Pending),
        Just(AuthRefusal::Full),
    ];
    prop_oneof![
        auth_grant().prop_map(|grant| AuthReply::Accepted(Box::new(grant))),
        (refusal, of(nonce())).prop_map(|(refusal, nonce)| AuthReply::Refused(refusal, nonce)),
    ]
}

prop_compose! {
    fn publish_request()(
        (tgt, tgt_type, fun, arg) in (tgt(), text(), fun(), list()),
        (key, token, eauth) in (text(), of(text()), of(text())),
        (username, password) in (of(text()), of(text())),
        ret in text(),
        jid in of(jid()),
        kwargs in extra(),
        user in of(text()),
        to in of(present()),
        extra in extra(),
    ) -> PublishRequest {
        let credentials = Credentials { key: Some(key), token, eauth, username, password };
        PublishRequest { tgt, tgt_type, fun, arg, credentials, ret, jid, kwargs, user, to, extra }
    }
}

/// Once over the wire, the packed form is the same.
fn assert_stable(map: &Map, again: impl FnOnce(Map) -> Map) {
    let packed = pack_wire(&map.clone().into()).unwrap();
    let Value::Map(read) = unpack_wire(&packed).unwrap() else {
        panic!("not a map");
    };
    assert_eq!(
        pack_wire(&again(read.clone()).into()).unwrap(),
        pack_wire(&read.into()).unwrap()
    );
}

proptest! {
    #[test]
    fn requests_survive(request in request()) {
        let load = request.to_map();
        prop_assert_eq!(Request::from_map(load.clone()), Ok(request.clone()));
        prop_assert_eq!(
            Request::open(load.clone().into(), &request.meta.id),
            Ok(request)
        );
        assert_stable(&load, |read| Request::from_map(read).unwrap().to_map());
    }

    #[test]
    fn a_request_of_another_minion_is_refused(request in request(), id in minion_id()) {
        prop_assume!(request.meta.id != id);
        prop_assert!(Request::open(request.to_map().into(), &id).is_err());
    }

    #[test]
    fn what_is_signed_does_not_depend_on_what_proves_it(request in request(), sig in binary()) {
        let load = request.to_map();
        let message = halite_proto::request::signed_bytes(&load).unwrap();
        let mut signed = load;
        signed.insert("sig", Value::Bytes(sig.clone()));
        let read = Request::from_map(signed).unwrap().meta.sig.unwrap();
        prop_assert_eq!(read.message, message);
        prop_assert_eq!(read.signature, sig);
    }

    #[test]
    fn envelopes_survive(
        id in minion_id(),
        load in binary(),
        clear in extra(),
        enc_algo in text(),
        sig_algo in text(),
    ) {
        for envelope in [
            RequestEnvelope::aes(load, id, enc_algo, sig_algo),
            RequestEnvelope::clear(clear),
        ] {
            let packed = envelope.encode().unwrap();
            prop_assert_eq!(&pack_wire(&envelope.to_value()).unwrap(), &packed);
            let read = RequestEnvelope::decode_from(&packed, 3).unwrap();
            prop_assert_eq!(read.encode().unwrap(), packed);
            prop_assert_eq!(RequestEnvelope::from_value(envelope.to_value(), 3), Ok(envelope));
        }
    }

    #[test]
    fn sign_ins_survive(request in auth_request(), reply in auth_reply()) {
        let load = request.to_map();
        let command = ClearCommand::from_map(load.clone()).unwrap();
        prop_assert_eq!(command, ClearCommand::Auth(Box::new(request)));
        assert_stable(&load, |read| AuthRequest::from_map(read).unwrap().to_map());
        prop_assert_eq!(AuthReply::from_map(reply.to_map()), Ok(reply.clone()));
        let load = reply.encode().unwrap();
        prop_assert_eq!(AuthReply::decode(&load).unwrap().encode().unwrap(), load.clone());
        let signed = halite_proto::auth::SignedAuthReply { load, sig: vec![0xff; 9] };
        prop_assert_eq!(
            AuthAnswer::decode(&signed.encode().unwrap()),
            Ok(AuthAnswer::Signed(signed))
        );
    }

    #[test]
    fn publications_survive(
        load in publish_load(),
        sealed in binary(),
        sig_algo in of(text()),
        sig in of(binary()),
    ) {
        prop_assert_eq!(PublishLoad::from_map(load.to_map()), Ok(load.clone()));
        assert_stable(&load.to_map(), |read| PublishLoad::from_map(read).unwrap().to_map());
        let publication = Publication { load: sealed, sig_algo, sig };
        let packed = publication.encode().unwrap();
        prop_assert_eq!(&pack_wire(&publication.to_map().into()).unwrap(), &packed);
        prop_assert_eq!(Publication::decode(&packed), Ok(publication));
    }

    #[test]
    fn publish_requests_survive(request in publish_request()) {
        prop_assert_eq!(
            ClearCommand::from_map(request.to_map()),
            Ok(ClearCommand::Publish(Box::new(request)))
        );
    }

    #[test]
    fn publish_replies_survive(
        jid in jid(),
        minions in vec(minion_id(), 0..4),
        missing in vec(text(), 0..3),
        is_ours in proptest::bool::ANY,
    ) {
        let reply = PublishReply::Accepted { jid, minions, missing, is_ours, trouble: None };
        let packed = pack_wire(&reply.to_value()).unwrap();
        prop_assert_eq!(PublishReply::from_value(unpack_wire(&packed).unwrap()), Ok(reply));
    }

    #[test]
    fn returns_survive(job in job_return()) {
        prop_assert_eq!(JobReturn::from_map(job.to_map()), Ok(job.clone()));
        assert_stable(&job.to_map(), |read| JobReturn::from_map(read).unwrap().to_map());
    }

    #[test]
    fn pillars_survive(key in binary(), pillar in map(), nonce in nonce(), sig in binary()) {
        let data = PillarData { key: key.clone(), pillar, nonce };
        let packed = data.encode().unwrap();
        prop_assert_eq!(PillarData::decode(&packed).unwrap().key, key.clone());
        let signed = SignedPillar { data: packed, sig };
        prop_assert_eq!(SignedPillar::decode(&signed.encode().unwrap()), Ok(signed.clone()));
        let reply = PillarReply { key, pillar: signed.encode().unwrap() };
        let answer = halite_proto::pillar::PillarAnswer::decode(&reply.encode().unwrap());
        prop_assert_eq!(answer, Ok(halite_proto::pillar::PillarAnswer::Private(reply)));
    }
}
