use super::*;

#[test]
fn defaults_are_valid() {
    Settings::default().check().unwrap();
}

#[test]
fn orthonormal_error_names_the_dimension() {
    let settings = Settings { embedding: EmbeddingSettings::Orthonormal, ..Settings::default() };
    let message = settings.check().unwrap_err().to_string();
    assert_eq!(message, "dim = 128: orthonormal embeddings need dim of at least vocab + 2 = 514");
}

#[test]
fn labels_round_trip_as_text() {
    for labels in [Labels::Permutation, Labels::Mod(5)] {
        assert_eq!(labels.to_string().parse(), Ok(labels));
    }
    assert!("mod:x".parse::<Labels>().is_err());
}

/// A value of every setting other than its default, such that all of them go together except where noted.
fn other_value(setting: &Setting) -> Value {
    match (setting.name, setting.kind) {
        ("embedding", _) => Value::Text("sphere".into()),
        ("output_embedding", _) => Value::Text("tied".into()),
        ("labels", _) => Value::Text("mod:7".into()),
        (_, Kind::Flag) => Value::Flag(true),
        (_, Kind::Count) => Value::Count(77),
        (_, Kind::Number) => Value::Number(0.75),
        (_, Kind::Word(words)) => {
            let other = words.iter().find(|(word, _)| Value::Text((*word).into()) != setting.default);
            Value::Text(other.unwrap().0.into())
        }
        (_, Kind::Pattern { .. } | Kind::Text) => Value::Text("name".into()),
    }
}

#[test]
fn setting_by_name_changes_that_setting_only() {
    for setting in Settings::settings() {
        let mut values = Values::default();
        let mut set = |name: &str, value| {
            let setting = find(Settings::settings(), name).unwrap();
            values.set(setting, value).unwrap();
        };
        let training = Training::settings().contains(setting);
        if training {
            set("steps", Value::Count(9));
        }
        match setting.name {
            "rank" => set("embedding", Value::Text("low_rank".into())),
            "clusters" => set("embedding", Value::Text("clustered".into())),
            "decay" => set("embedding", Value::Text("power_law".into())),
            "spread" => {
                set("embedding", Value::Text("clustered".into()));
                set("clusters", Value::Count(3));
            }
            "embedding_file" => set("embedding_tensor", Value::Text("rows".into())),
            "embedding_tensor" => set("embedding_file", Value::Text("file".into())),
            _ => {}
        }
        let before = values.clone();
        let value = other_value(setting);
        values.set(setting, value.clone()).unwrap();
        let settings = Settings::read(&values).unwrap();
        assert_eq!(settings.get(setting.name), value, "{}", setting.name);
        for other in Settings::settings().iter().filter(|other| other.name != setting.name) {
            let expected = match before.get(other.name) {
                Some(value) => value.clone(),
                None if setting.name.starts_with("embedding_") && other.name == "embedding" => {
                    Value::Text("file".into())
                }
                None if matches!(setting.name, "clusters") && other.name == "spread" => Value::Number(0.5),
                None if Training::settings().contains(other) && !training => Value::Null,
                None => other.default.clone(),
            };
            assert_eq!(settings.get(other.name), expected, "{} beside {}", other.name, setting.name);
        }
    }
}

#[test]
fn json_round_trips() {
    let settings = Settings {
        width: Some(9),
        zipf: Some(0.5),
        noise_zipf: Some(1.5),
        embedding: EmbeddingSettings::Clustered { clusters: 3, spread: 0.25 },
        training: Some(Training { steps: 7, optimiser: Optimiser::Muon, ..Training::default() }),
        ..Settings::default()
    };
    for settings in [settings, Settings::default()] {
        let text = serde_json::to_string(&settings).unwrap();
        assert_eq!(serde_json::from_str::<Settings>(&text).unwrap(), settings, "{text}");
    }
}

/// The key of a cell leaves out defaults, so a changed default gives old keys another meaning.
#[test]
fn defaults_are_pinned() {
    let present = Settings::settings().iter().filter(|setting| setting.default != Value::Null);
    let defaults: Vec<String> = present.map(|s| format!("{}={}", s.name, s.default)).collect();
    assert_eq!(
        defaults.join(" "),
        "vocab=512 dim=128 length=16 samples=8192 activation=relu trigger=values labels=permutation \
         regime=infinitesimal early_rule=gradient rounds=1 accumulate=false \
         eta=1 lead=4 precision=f32 test_samples=4096 repeats=1 seed=0 embedding=gaussian \
         steps=0 optimiser=adamw rate=0.01 schedule=constant weight_decay=0 warm_start=false heads=1 positions=none \
         factored=false train_embeddings=false train_first_layer=false",
        "append a new setting to this list; a changed default also needs a new NUMERICS_REVISION"
    );
}

#[test]
fn training_settings_are_ignored_without_steps() {
    let text =
        r#"{"steps": 0, "rate": 3.0, "warm_start": true, "factored": true, "batch": 4, "optimiser": "muon"}"#;
    assert_eq!(serde_json::from_str::<Settings>(text).unwrap(), Settings::default());
}

#[test]
fn errors_name_the_setting_and_its_value() {
    let refused = |text: &str| match serde_json::from_str::<Settings>(text) {
        Ok(settings) => settings.check().unwrap_err().to_string(),
        Err(error) => error.to_string(),
    };
    for (text, start) in [
        (r#"{"heads": 2}"#, "heads = 2"),
        (r#"{"positions": "rotary"}"#, "positions = rotary"),
        (r#"{"steps": 10, "train_first_layer": true}"#, "train_first_layer = true"),
        (r#"{"steps": 10, "momentum": 0.5}"#, "momentum = 0.5"),
        (r#"{"rank": 3}"#, "rank = 3: not with embedding = gaussian"),
        (r#"{"embedding": "clustered"}"#, "clusters = (none): needed with embedding = clustered"),
        (r#"{"steps": 10, "rate": 0.0}"#, "rate = 0"),
        (r#"{"vocab": 1}"#, "vocab = 1: must be a whole number from 2 to 2147483647"),
        (r#"{"vocab": 1e20}"#, "vocab = 1e20: must be a whole number from 2 to 2147483647"),
        (
            r#"{"seed": 1e20}"#,
            "seed = 1e20: must be a whole number from 0 to 18446744073709551615; above 9007199254740992 all",
        ),
        (r#"{"vocab": 1.5}"#, "vocab = 1.5: must be a whole number"),
        (r#"{"activation": "sine"}"#, "activation = sine: must be one of relu"),
        (r#"{"noise_zipf": -1}"#, "noise_zipf = -1: must be from 0 to 10"),
        (r#"{"zipf": 11}"#, "zipf = 11: must be from 0 to 10"),
        (r#"{"width": -4}"#, "width = -4: must be a whole number"),
        (r#"{"lead": 0}"#, "lead = 0: must be above 0, at most 1000000"),
        (r#"{"keep": 0}"#, "keep = 0: must be a whole number from 1"),
        (r#"{"keep": 17}"#, "keep = 17: must be a whole number from 1 to length = 16"),
        (r#"{"keep": -1}"#, "keep = -1: must be a whole number"),
        (r#"{"keep": "x"}"#, "keep = \"x\": must be a whole number"),
        (r#"{"keep": 9223372036854775808}"#, "keep = 9223372036854775808: must be a whole number"),
        (r#"{"colour": 1}"#, "unknown key colour: there are vocab, dim"),
    ] {
        assert!(refused(text).starts_with(start), "{text}: {}", refused(text));
    }
    let settings = Settings { zipf: Some(f64::NAN), ..Settings::default() };
    assert_eq!(settings.check().unwrap_err().to_string(), "zipf = NaN: must be from 0 to 10");
}
