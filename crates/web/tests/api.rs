//! Responses of every path, compared with the OpenAPI document and with the engine.

use std::io::Write;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Instant;

use crate::common::{Answer, Running};
use serde_json::{Value, json};
use superpose_core::Settings;
use superpose_core::backend::Backend;
use superpose_lab::cell::Runner;
use superpose_lab::run::{Inputs, run};
use superpose_lab::store::Store;

static SERVER: LazyLock<Running> = LazyLock::new(Running::new);

/// The JSON of a response, checked against the document.
fn conforms(server: &Running, method: &str, path: &str, answer: &Answer) -> Value {
    let document = server.get("/api/openapi.json").json();
    let response = &document["paths"][path][method]["responses"][answer.status.to_string()];
    assert!(
        response.is_object(),
        "{method} {path} has no {} in the document: {}",
        answer.status,
        answer.text()
    );
    let mut schema = response["content"]["application/json"]["schema"].clone();
    schema["components"] = document["components"].clone();
    let json = answer.json();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&json).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{method} {path}: {errors:#?}");
    json
}

fn posted(path: &str, body: &Value) -> Value {
    let answer = SERVER.post(path, body);
    conforms(&SERVER, "post", path, &answer)
}

fn small() -> Value {
    json!({ "vocab": 64, "dim": 32, "length": 8, "samples": 2000, "test_samples": 500 })
}

#[test]
fn about_has_defaults_and_choices() {
    let about = conforms(&SERVER, "get", "/api/about", &SERVER.get("/api/about"));
    assert_eq!(about["device"], "cpu");
    assert_eq!(about["defaults"], serde_json::to_value(Settings::default()).unwrap());
    assert!(!about["choices"]["embedding"].as_array().unwrap().contains(&json!("file")));
}

#[test]
fn map_matches_predictions() {
    let asked = json!({ "config": { "vocab": 300, "trigger": "keys" }, "accuracy": 0.7,
        "x": { "size": "dim", "low": 16, "high": 512 }, "y": { "size": "samples", "low": 100, "high": 1e5 as u64 } });
    let map = posted("/api/map", &asked);
    let (xs, ys) = (map["x"]["values"].as_array().unwrap(), map["y"]["values"].as_array().unwrap());
    assert!(xs.len() > 55 && ys.len() == 64, "{} {}", xs.len(), ys.len());
    let accuracy = map["accuracy"].as_array().unwrap();
    assert_eq!(accuracy.len(), xs.len() * ys.len());
    assert_eq!(map["dominant"].as_array().unwrap().len(), accuracy.len());
    // One cell, and the prediction at the same point.
    let (c, r) = (xs.len() * 2 / 3, ys.len() * 3 / 4);
    let config = json!({ "vocab": 300, "trigger": "keys", "dim": xs[c], "samples": ys[r] });
    let point = posted("/api/predict", &json!({ "config": config }));
    let (there, alone) = (accuracy[r * xs.len() + c].as_f64().unwrap(), point["accuracy"].as_f64().unwrap());
    assert!((there - alone).abs() < 0.006, "{there} {alone}");
    let line = map["boundary"][0].as_array().unwrap();
    assert!(line.len() > 10 && map["gap"].is_null());
    // On the line the accuracy is the level.
    let middle = &line[line.len() / 2];
    let [x, y] = [0, 1].map(|i| middle[i].as_f64().unwrap().round() as u64);
    let config = json!({ "vocab": 300, "trigger": "keys", "dim": x, "samples": y });
    let on = posted("/api/predict", &json!({ "config": config }))["accuracy"].as_f64().unwrap();
    assert!((on - 0.7).abs() < 0.03, "{on}");
}

#[test]
fn maps_of_parameters_orthonormal_embeddings_and_zipf() {
    let parameters = json!({ "config": { "activation": "he2", "trigger": "keys" }, "resolution": 16,
        "x": { "size": "parameters", "low": 1000, "high": 1_000_000 }, "y": { "size": "length", "low": 2, "high": 100 } });
    let map = posted("/api/map", &parameters);
    assert_eq!(map["x"]["symbol"], "m d");
    assert!(map["x"]["values"].as_array().unwrap().iter().all(|x| x.as_u64().unwrap() % 128 == 0));
    // Orthonormal vectors need dim of at least vocab + 2: other cells have no model.
    let orthonormal = json!({ "config": { "embedding": "orthonormal", "vocab": 100, "dim": 8 }, "resolution": 16,
        "x": { "size": "dim", "low": 16, "high": 512 }, "y": { "size": "samples", "low": 100, "high": 100_000 } });
    let map = posted("/api/map", &orthonormal);
    for (i, accuracy) in map["accuracy"].as_array().unwrap().iter().enumerate() {
        let dim = map["x"]["values"][i % map["x"]["values"].as_array().unwrap().len()].as_u64().unwrap();
        assert_eq!(accuracy.is_null(), dim < 102, "dim {dim}");
    }
    let zipf = json!({ "config": { "zipf": 0.5, "trigger": "keys" }, "resolution": 16,
        "x": { "size": "dim", "low": 16, "high": 512 }, "y": { "size": "samples", "low": 100, "high": 100_000 } });
    let map = posted("/api/map", &zipf);
    let shares = map["accuracy"].as_array().unwrap().iter().map(|share| share.as_f64().unwrap());
    assert!(map["gap"].is_null() && shares.clone().all(|share| (0.0..=1.0).contains(&share)));
    assert!(shares.clone().fold(0.0, f64::max) > shares.fold(1.0, f64::min) + 0.05);
    let silent = json!({ "config": { "zipf": 1.0, "width": 64 },
        "x": { "size": "dim", "low": 16, "high": 512 }, "y": { "size": "samples", "low": 100, "high": 100_000 } });
    let map = posted("/api/map", &silent);
    assert!(map["accuracy"].is_null() && map["gap"].as_str().unwrap().contains("attention-only model"));
}

#[test]
fn prediction_matches_the_engine() {
    let point = posted("/api/predict", &json!({ "config": { "samples": 65_536 }, "accuracy": 0.5 }));
    let config = Settings { samples: 65_536, ..Settings::default() }.check().unwrap();
    let own = serde_json::to_value(superpose_lab::predict::predict(&config, 0.5).unwrap()).unwrap();
    for (name, value) in own.as_object().unwrap() {
        assert_eq!(&point[name], value, "{name}");
    }
    let advice = &point["advice"];
    assert!(advice["sentence"].as_str().unwrap().contains("helps most"), "{advice}");
    assert!(advice["knobs"].as_array().unwrap().len() >= 3);
    let silent = posted("/api/predict", &json!({ "config": { "regime": "exact" } }));
    assert!(
        silent["accuracy"].is_null()
            && silent["advice"]["sentence"].as_str().unwrap().contains("infinitesimal")
    );
}

#[test]
fn run_matches_the_engine() {
    let mut given = small();
    given["repeats"] = json!(2);
    let answer = SERVER.post("/api/runs", &json!({ "config": given }));
    assert_eq!(answer.status, 201);
    let run_view = conforms(&SERVER, "post", "/api/runs", &answer);
    let id = run_view["id"].as_u64().unwrap();
    assert_eq!(SERVER.wait(id)["state"], "done");
    let done = conforms(&SERVER, "get", "/api/runs/{id}", &SERVER.get(&format!("/api/runs/{id}")));
    let settings: Settings = serde_json::from_value(given).unwrap();
    let own = run(&settings.check().unwrap(), &Inputs::default(), &Backend::single(), None, &()).unwrap();
    let record = &done["result"]["record"];
    assert_eq!(
        record["accuracy"],
        serde_json::to_value(own.measures[superpose_core::Measure::Accuracy]).unwrap()
    );
    assert_eq!(record["noise"], serde_json::to_value(own.noise).unwrap());
    assert_eq!(done["accuracy"], record["accuracy"]);
    let margins = &done["result"]["margins"];
    let counted: u64 =
        margins["counts"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(counted, 500);
    let tokens = done["result"]["example"]["tokens"].as_array().unwrap();
    assert_eq!(tokens.iter().filter(|token| token["trigger"] == true).count(), 1);
    let list = conforms(&SERVER, "get", "/api/runs", &SERVER.get("/api/runs"));
    let listed = list["runs"].as_array().unwrap().iter().find(|run| run["id"] == id).unwrap();
    assert!(listed.get("result").is_none() && listed["accuracy"] == done["accuracy"]);
    // Deleting a run that has ended removes it.
    conforms(&SERVER, "delete", "/api/runs/{id}", &SERVER.delete(&format!("/api/runs/{id}")));
    SERVER.get(&format!("/api/runs/{id}")).refusal(404);
}

#[test]
fn plan_has_a_figure() {
    let plan = posted("/api/plan", &json!({ "facts": 2000, "length": 64, "accuracy": 0.9 }));
    assert_eq!(plan["cheapest"]["dim"], 337.0);
    for theme in ["light", "dark"] {
        assert!(plan["svg"][theme].as_str().unwrap().starts_with("<svg"), "{theme}");
    }
    let none = json!({ "facts": 2000, "length": 64, "max_parameters": 100, "activation": "he2" });
    assert_eq!(posted("/api/plan", &none)["feasible"], false);
}

/// A store with a few cells.
fn store(path: &Path, samples: &[usize]) {
    let mut cells = Vec::new();
    for &samples in samples {
        let settings = Settings { vocab: 32, dim: 24, length: 4, samples, repeats: 2, ..Settings::default() };
        let config = settings.check().unwrap();
        cells.extend((0..2).map(|repeat| config.repeat(repeat)));
    }
    let mut runner = Runner::new(1).with_results(Store::open(path).unwrap());
    runner.run(&cells, &mut |_| {}).unwrap();
}

#[test]
fn training_and_structured_embeddings_are_refused() {
    let server = Running::new();
    for (config, word) in [
        (json!({ "steps": 5 }), "steps = 5"),
        (json!({ "embedding": "low_rank", "rank": 20 }), "embedding = low_rank"),
        (json!({ "embedding": "clustered", "clusters": 2147483647 }), "clusters = 2147483647"),
    ] {
        for path in ["/api/runs", "/api/predict"] {
            let refusal = server.post(path, &json!({ "config": config })).refusal(422);
            assert!(refusal.contains(word), "{path}: {refusal}");
        }
    }
}

#[test]
fn growing_store_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sweep.sqlite");
    store(&path, &[200, 1000]);
    let server = Running::open(vec![path.clone()]);
    let list = conforms(&server, "get", "/api/studies", &server.get("/api/studies"));
    assert_eq!(list["studies"][0]["cells"], json!({ "done": 4, "failed": 0 }));
    let shown = conforms(&server, "get", "/api/studies/{id}", &server.get("/api/studies/0"));
    assert_eq!((&shown["kind"], &shown["name"]), (&json!("store"), &json!("sweep.sqlite")));
    let table = &shown["sections"][0]["tables"][0];
    assert_eq!(table["columns"][0], "samples");
    assert_eq!((table["total"].as_u64(), table["rows"][1][0].as_u64()), (Some(2), Some(1000)));
    for theme in ["light", "dark"] {
        let svg = server.get(&format!("/api/studies/0/pictures/runs.svg?theme={theme}"));
        assert_eq!((svg.status, svg.header("content-type")), (200, Some("image/svg+xml")));
        assert!(svg.text().starts_with("<svg"));
    }
    let csv = server.get("/api/studies/0/files/cells.csv");
    assert_eq!((csv.status, csv.text().lines().count()), (200, 5));
    assert!(csv.header("content-disposition").unwrap().contains("attachment"));
    assert_eq!(server.get("/api/studies/0/files/cells.jsonl").text().lines().count(), 4);
    assert!(server.get("/api/studies/0/files/runs.csv").text().starts_with("samples,runs,accuracy"));
    // Listeners are told when it grows.
    let mut events = server.listen("/api/events");
    let first = events.next().unwrap();
    assert_eq!((first.0.as_str(), &first.1["cells"]["done"]), ("study", &json!(4)));
    store(&path, &[5000]);
    let next = events.find(|(name, data)| name == "study" && data["cells"]["done"] != 4).unwrap().1;
    assert_eq!(next["cells"]["done"], 6);
    assert!(next["revision"].as_u64() > first.1["revision"].as_u64());
    drop(events);
    // A removed store is an error.
    std::fs::remove_file(&path).unwrap();
    // A store is not summarised more often than every two seconds.
    std::thread::sleep(std::time::Duration::from_millis(2100));
    let gone = server.get("/api/studies/0").json();
    assert!(gone["cells"].is_null() && gone["error"].is_string(), "{gone}");
    let answer = server.get("/api/studies/0/files/cells.csv");
    assert_eq!(answer.status, 404, "{}", answer.text());
}

#[test]
fn study_is_shown_as_in_its_report() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    std::fs::write(root.join("manifest.json"), r#"{"scale":"quick","seed":0,"machine":{"cores":2}}"#)
        .unwrap();
    let server = Running::open(vec![root.to_owned()]);
    // A study without results.
    let shown = conforms(&server, "get", "/api/studies/{id}", &server.get("/api/studies/0"));
    assert_eq!((&shown["kind"], &shown["sections"]), (&json!("study"), &json!([])));
    assert!(shown["facts"].as_array().unwrap().contains(&json!(["machine, cores", "2"])));
    // A study with one section.
    std::fs::write(root.join("study.json"), study_json()).unwrap();
    std::fs::create_dir(root.join("tables")).unwrap();
    std::fs::write(root.join("tables/bound.csv"), "V,d\n1,2\n").unwrap();
    store(&root.join("store.sqlite"), &[300]);
    let shown = conforms(&server, "get", "/api/studies/{id}", &server.get("/api/studies/0"));
    assert_eq!(shown["sections"].as_array().unwrap().len(), 1, "{shown}");
    assert_eq!(shown["cells"]["done"], 2);
    let names: Vec<&str> =
        shown["files"].as_array().unwrap().iter().map(|file| file["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"study.json") && names.contains(&"cells.csv"), "{names:?}");
    let picture = shown["sections"][0]["pictures"][0]["name"].as_str().unwrap();
    assert_eq!(server.get(&format!("/api/studies/0/pictures/{picture}.svg")).status, 200);
    for name in &names {
        assert_eq!(server.get(&format!("/api/studies/0/files/{name}")).status, 200, "{name}");
    }
    // A truncated file is an error.
    std::fs::write(root.join("study.json"), "{").unwrap();
    let shown = conforms(&server, "get", "/api/studies/{id}", &server.get("/api/studies/0"));
    assert!(shown["error"].as_str().unwrap().contains("study.json"), "{shown}");
}

/// The results of a study with one small part.
fn study_json() -> String {
    use superpose_study::{Attention, LockCurve, LockPoint, Results};
    let measured = superpose_lab::interval::Interval { mean: 0.9, low: 0.8, high: 0.95 };
    let points = vec![
        LockPoint { samples: 100, measured, predicted: 0.88 },
        LockPoint { samples: 1000, measured, predicted: 0.91 },
    ];
    let curves = vec![LockCurve { vocab: 100, dim: 50, length: 8, points }];
    let attention = Attention { seeds: 4, curves, beyond: Vec::new() };
    serde_json::to_string(&Results { attention: Some(attention), ..Results::default() }).unwrap()
}

#[test]
fn opened_embeddings_are_inspected() {
    let folder = tempfile::tempdir().unwrap();
    let (rows, dim) = (40_usize, 8_usize);
    let data: Vec<f32> = (0..rows * dim).map(|i| ((i * i) as f32 * 0.37).sin()).collect();
    let names: Vec<String> = (0..200).map(|i| format!("block.{i}")).collect();
    let mut entries: Vec<_> =
        names.iter().map(|name| superpose_tensors::Entry::f32(name, &[2, 1], vec![1.0, 2.0])).collect();
    entries.push(superpose_tensors::Entry::f32("rows", &[rows, dim], data));
    superpose_tensors::write(&folder.path().join("model.safetensors"), &entries).unwrap();
    std::fs::write(folder.path().join("broken.safetensors"), b"nonsense").unwrap();
    let server = Running::open(vec![folder.path().to_owned()]);
    let list = conforms(&server, "get", "/api/studies", &server.get("/api/studies"));
    let files = &list["studies"][0]["embeddings"];
    // The largest are listed, and the first by name is not among them.
    assert_eq!(files[1]["tensors"].as_array().unwrap().len(), 200);
    let matrix = &files[1]["tensors"][0];
    assert_eq!(
        (&matrix["name"], &matrix["rows"], &matrix["columns"]),
        (&json!("rows"), &json!(40), &json!(8))
    );
    assert!(matrix["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0), "{matrix}");
    assert!(files[0]["error"].is_string());
    let asked = json!({ "study": 0, "file": "model.safetensors", "accuracy": 0.9 });
    let found = conforms(&server, "post", "/api/inspect", &server.post("/api/inspect", &asked));
    assert_eq!((found["rows"].as_u64(), found["dim"].as_u64()), (Some(40), Some(8)));
    assert!(found["curve"].as_array().unwrap().len() > 2);
    for (file, word) in [
        ("broken.safetensors", "broken"),
        ("../x.safetensors", "must be one of"),
        ("store.sqlite", "must be"),
    ] {
        let asked = json!({ "study": 0, "file": file });
        let answer = server.post("/api/inspect", &asked);
        assert!(answer.refusal(422).contains(word), "{}", answer.text());
        conforms(&server, "post", "/api/inspect", &answer);
    }
    server.post("/api/inspect", &json!({ "study": 7, "file": "model.safetensors" })).refusal(422);
}

/// A file of embeddings with so many rows, in a folder.
fn embeddings(folder: &Path, rows: usize, dim: usize) {
    let data: Vec<f32> = (0..rows * dim).map(|i| ((i * i % 1_000_003) as f32 * 0.37).sin()).collect();
    let entries = [superpose_tensors::Entry::f32("rows", &[rows, dim], data)];
    superpose_tensors::write(&folder.join("model.safetensors"), &entries).unwrap();
}

#[test]
fn inspection_stops_when_the_client_disconnects() {
    let folder = tempfile::tempdir().unwrap();
    embeddings(folder.path(), 4096, 64);
    let server = Running::open(vec![folder.path().to_owned()]);
    let asked = json!({ "study": 0, "file": "model.safetensors" }).to_string();
    let started = Instant::now();
    assert_eq!(server.post("/api/inspect", &serde_json::from_str(&asked).unwrap()).status, 200);
    let whole = started.elapsed();
    // Two clients that disconnect: the next request waits for neither.
    for _ in 0..2 {
        let mut stream = server.connect();
        let head = format!(
            "POST /api/inspect HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{asked}",
            server.address,
            asked.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        std::thread::sleep(whole / 20);
    }
    let started = Instant::now();
    assert_eq!(server.post("/api/plan", &json!({ "facts": 100, "length": 4 })).status, 200);
    assert!(started.elapsed() < whole / 2, "{:?} of {whole:?}", started.elapsed());
}

#[test]
fn document_is_valid_and_its_paths_exist() {
    let document = SERVER.get("/api/openapi.json").json();
    assert_eq!(document["openapi"], "3.1.0");
    for (path, operations) in document["paths"].as_object().unwrap() {
        // The server knows every path of the document: another method is refused, not unknown.
        let there = path.replace("{id}", "0").replace("{name}", "x");
        let answer = SERVER.request("PATCH", &there, &[], b"");
        assert_eq!(answer.status, 405, "{path}");
        for operation in operations.as_object().unwrap().values() {
            if let Some(body) = operation.get("requestBody") {
                let content = &body["content"]["application/json"];
                let mut schema = content["schema"].clone();
                schema["components"] = document["components"].clone();
                assert!(jsonschema::is_valid(&schema, &content["example"]), "{path}");
            }
        }
    }
    for schema in document["components"]["schemas"].as_object().unwrap().values() {
        let mut schema = schema.clone();
        schema["components"] = document["components"].clone();
        jsonschema::validator_for(&schema).unwrap();
    }
}

#[test]
fn page_and_its_files_are_served() {
    let page = SERVER.get("/");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    // Its scripts and styles are served, too.
    let text = page.text();
    for part in text.split(['"', '\'']).filter(|part| part.ends_with(".js") || part.ends_with(".css")) {
        let path = format!("/{}", part.trim_start_matches("./").trim_start_matches('/'));
        assert_eq!(SERVER.get(&path).status, 200, "{path}");
    }
}
