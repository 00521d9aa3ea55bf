//! Shards: recovery after a killed writer, merging, and rejection of invalid shards.

use std::path::{Path, PathBuf};

use superpose_core::Measure;
use superpose_core::backend::{Backend, Numerics};
use superpose_core::config::{Config, Settings};
use superpose_lab::cell::{Entry, Event, Key, Known, Outcome, Results, Runner, measure};
use superpose_lab::store::Store;
use superpose_lab::sweep::{Merged, Shard, Survey, merge, shards_in};

fn cells(count: u64) -> Vec<Config> {
    let settings =
        Settings { vocab: 24, dim: 12, length: 4, samples: 200, test_samples: 100, ..Settings::default() };
    (0..count).map(|seed| Settings { seed, ..settings.clone() }.check().unwrap()).collect()
}

/// Runs cells into a shard; returns how many were run.
fn run(path: &Path, cells: &[Config], store: Option<&Path>) -> usize {
    let mut runs = 0;
    let shard = Shard::open(path, store).unwrap();
    let outcomes = Runner::new(1)
        .with_results(shard)
        .run(cells, &mut |event| runs += usize::from(matches!(event, Event::Finished { .. })))
        .unwrap();
    assert!(outcomes.iter().all(Result::is_ok));
    runs
}

fn merge_into(paths: &[PathBuf], store: &Path) -> Merged {
    merge(paths, &mut Store::open(store).unwrap(), &mut |_| {}).unwrap()
}

fn entries(path: &Path) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut each = |entry: Entry| {
        entries.push(entry);
        Ok::<_, superpose_lab::store::StoreError>(())
    };
    Store::open(path).unwrap().entries(&mut each).unwrap();
    entries
}

/// Everything but time.
fn same(a: &[Entry], b: &[Entry]) -> bool {
    let pair = |(a, b): (&Entry, &Entry)| {
        a.config == b.config && a.result.as_ref().unwrap().agrees(b.result.as_ref().unwrap())
    };
    a.len() == b.len() && a.iter().zip(b).all(pair)
}

#[test]
fn incomplete_shard_is_continued() {
    let folder = tempfile::tempdir().unwrap();
    let path = Shard::path(folder.path(), 1, 2);
    assert_eq!(run(&path, &cells(10), None), 10);
    let whole = std::fs::read(&path).unwrap();
    let last = whole[..whole.len() - 1].iter().rposition(|&byte| byte == b'\n').unwrap() + 1;
    for cut in [last + 1, last + 40, whole.len() - 1] {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let store = folder.path().join(format!("{cut}.sqlite"));
        let merged = merge_into(std::slice::from_ref(&path), &store);
        assert_eq!(
            (merged.added, merged.torn.clone(), merged.refused.len()),
            (9, vec![(path.clone(), 10)], 0)
        );
        assert_eq!(run(&path, &cells(10), None), 1, "{cut}");
        let merged = merge_into(std::slice::from_ref(&path), &store);
        assert_eq!((merged.added, merged.known, merged.torn.len()), (1, 9, 0));
    }
    assert_eq!(run(&path, &cells(10), None), 0);
}

/// Reading a shard does not change it, not even an incomplete line that may still be being written.
#[test]
fn reading_does_not_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = Shard::path(&folder.path().join("shards"), 1, 2);
    assert!(!Shard::peek(&path, None).unwrap().has_only_other_cells(&cells(1)));
    assert!(!path.exists() && !folder.path().join("shards").exists());
    run(&path, &cells(3), None);
    let whole = std::fs::read(&path).unwrap();
    let torn = &whole[..whole.len() - 9];
    std::fs::write(&path, torn).unwrap();
    let mut shard = Shard::peek(&path, None).unwrap();
    assert_eq!(cells(3).iter().filter(|cell| !shard.keys_of(cell).is_empty()).count(), 2);
    let config = cells(4).remove(3);
    let entry = Entry::new(&config, &Numerics::this_cpu(), Err("no".into()));
    assert!(shard.keep(&[entry]).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), torn);
}

/// A result in the store is used unless the shard has a better one.
#[test]
fn shard_does_not_hide_results_of_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let config = cells(1).remove(0);
    let key = Key::new(&config, &Numerics::this_cpu());
    let full = measure(&config, true, &Backend::single()).unwrap();
    let bare = Outcome { noise: None, ..full };
    let known = |stored: Known, sharded: Known| {
        let _ = std::fs::remove_file(at("a.jsonl"));
        let entry = |result| [Entry::new(&config, &Numerics::this_cpu(), result)];
        let name = format!("{}.sqlite", stored.is_ok());
        Store::open(&at(&name)).unwrap().keep(&entry(stored)).unwrap();
        let mut shard = Shard::open(&at("a.jsonl"), Some(&at(&name))).unwrap();
        shard.keep(&entry(sharded)).unwrap();
        shard.find(&[key]).unwrap().remove(&key).unwrap()
    };
    assert_eq!(known(Ok(full), Err("no".into())), Ok(full));
    assert_eq!(known(Ok(full), Ok(bare)), Ok(full));
    assert_eq!(known(Err("no".into()), Ok(bare)), Ok(bare));
}

/// Results of other arithmetic have other keys: merging keeps both, and a run does not take one for its own.
#[test]
fn results_of_other_numerics_are_kept_apart() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let config = cells(1).remove(0);
    let outcome = measure(&config, false, &Backend::single()).unwrap();
    let foreign = Numerics::try_from("cuda-sm90".to_string()).unwrap();
    for (name, numerics, trigger_sign) in [("own", Numerics::this_cpu(), 1), ("other", foreign.clone(), -1)] {
        let entry = Entry::new(&config, &numerics, Ok(Outcome { trigger_sign, ..outcome }));
        Shard::open(&at(&format!("{name}.jsonl")), None).unwrap().keep(&[entry]).unwrap();
    }
    // A worker with other arithmetic continues the shard; results of other cells are refused.
    let shard = Shard::open(&at("other.jsonl"), None).unwrap();
    assert!(!shard.has_only_other_cells(&cells(2)) && shard.has_only_other_cells(&cells(2)[1..]));
    assert_eq!(run(&at("other.jsonl"), std::slice::from_ref(&config), None), 1);
    let merged = merge_into(&[at("own.jsonl"), at("other.jsonl")], &at("a.sqlite"));
    assert_eq!((merged.added, merged.known, merged.refused.len()), (2, 1, 0));
    let mut stored = entries(&at("a.sqlite"));
    stored.sort_by(|a, b| a.numerics.cmp(&b.numerics));
    assert_eq!((&stored[0].numerics, &stored[1].numerics), (&Numerics::this_cpu(), &foreign));
}

/// GPUs of several architectures work on one sweep: each result counts, wherever it is.
#[test]
fn survey_counts_every_arithmetic_that_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let (cells, shards) = (cells(5), folder.path().join("shards"));
    let outcome = measure(&cells[0], false, &Backend::single()).unwrap();
    let entry = |cell: usize, word: &str| {
        let numerics = Numerics::try_from(word.to_string()).unwrap();
        Entry::new(&cells[cell], &numerics, Ok(outcome))
    };
    let mut store = Store::open(&folder.path().join("a.sqlite")).unwrap();
    store.keep(&[entry(0, "cpu"), entry(1, "cpu"), entry(0, "cuda-sm80"), entry(2, "cuda-sm90")]).unwrap();
    let mut shard = Shard::open(&Shard::path(&shards, 1, 1), None).unwrap();
    shard.keep(&[entry(0, "cuda-sm90"), entry(3, "cuda-sm80")]).unwrap();
    let mut survey = |counted: &dyn Fn(&Numerics) -> bool| {
        let survey = Survey::take(&cells, counted, false, false, Some(&mut store), &shards, 1).unwrap();
        (survey.done, survey.in_shards, survey.left(), [survey.uncounted, survey.foreign.len()])
    };
    assert_eq!(survey(&Numerics::is_gpu), (3, 1, 2, [0, 0]));
    assert_eq!(survey(&|numerics| *numerics == Numerics::CPU), (2, 0, 3, [2, 0]));
    assert_eq!(survey(&|_| true), (4, 1, 1, [0, 0]));
}

#[test]
fn merged_shards_equal_a_local_run() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for share in 0..3 {
        let mine: Vec<Config> = cells(12).into_iter().skip(share).step_by(3).collect();
        run(&Shard::path(&at("shards"), share + 1, 3), &mine, None);
    }
    std::fs::write(at("shards").join("notes.txt"), "not a shard").unwrap();
    let shards = shards_in(&[at("shards"), Shard::path(&at("shards"), 2, 3)]).unwrap();
    assert_eq!(shards.len(), 3);
    let merged = merge_into(&shards, &at("merged.sqlite"));
    assert_eq!((merged.shards, merged.added, merged.known), (3, 12, 0));
    Runner::new(2)
        .with_results(Store::open(&at("local.sqlite")).unwrap())
        .run(&cells(12), &mut |_| {})
        .unwrap();
    assert!(same(&entries(&at("merged.sqlite")), &entries(&at("local.sqlite"))));
    // A new shard does not run cells that are in the store.
    assert_eq!(run(&at("new.jsonl"), &cells(14), Some(&at("merged.sqlite"))), 2);
    assert_eq!(run(&at("new.jsonl"), &cells(14), Some(&at("absent.sqlite"))), 12);
}

#[test]
fn damaged_shard_is_rejected_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    run(&at("good.jsonl"), &cells(6), None);
    let good = std::fs::read_to_string(at("good.jsonl")).unwrap();
    let lines: Vec<&str> = good.lines().collect();
    let write = |name: &str, lines: &[&str]| std::fs::write(at(name), lines.join("\n") + "\n").unwrap();

    let digit = lines[3].find("\"mean\":0.").unwrap() + 9;
    let old = &lines[3][digit..=digit];
    let edited =
        format!("{}{}{}", &lines[3][..digit], if old == "1" { "2" } else { "1" }, &lines[3][digit + 1..]);
    write("edited.jsonl", &[lines[0], lines[1], lines[2], &edited, lines[4]]);
    write("cut inside.jsonl", &[lines[0], &lines[1][..200], lines[2]]);
    write("foreign.jsonl", &["{\"a\": 1}", lines[0]]);
    std::fs::write(at("one line.jsonl"), "hello").unwrap();
    write("empty line.jsonl", &[lines[0], "", lines[1]]);
    std::fs::write(at("bytes.jsonl"), [lines[0].as_bytes(), b"\n\xff\xfe\n"].concat()).unwrap();
    for (name, line, word) in [
        ("edited.jsonl", 4, "edited"),
        ("cut inside.jsonl", 2, "not a record"),
        ("foreign.jsonl", 1, "not a record"),
        ("one line.jsonl", 1, "not a record"),
        ("empty line.jsonl", 2, "not a record"),
        ("bytes.jsonl", 2, "not a record"),
    ] {
        let merged = merge_into(&[at(name)], &at("store.sqlite"));
        assert_eq!((merged.shards, merged.added, merged.refused.len()), (0, 0, 1), "{name}");
        let message = merged.refused[0].to_string();
        assert!(message.contains(&format!("{name}, line {line}: ")) && message.contains(word), "{message}");
        assert!(Shard::open(&at(name), None).is_err(), "{name}");
    }
    assert!(entries(&at("store.sqlite")).is_empty());

    // A copy and repeated lines add nothing.
    write("doubled.jsonl", &[lines[0], lines[1], lines[0]]);
    let merged = merge_into(
        &[at("doubled.jsonl"), at("edited.jsonl"), at("good.jsonl"), at("good.jsonl")],
        &at("store.sqlite"),
    );
    assert_eq!((merged.shards, merged.added, merged.known, merged.refused.len()), (3, 6, 9, 1));
}

/// Returns a line with a valid checksum.
fn signed(line: &str) -> String {
    let (content, _) = line.rsplit_once(",\"checksum\":\"").unwrap();
    format!("{content},\"checksum\":\"{}\"}}", &blake3::hash(content.as_bytes()).to_hex()[..16])
}

/// Invalid records with valid checksums: a wrong key, a record of another version, and two results for one cell in one shard. Other
/// shards in the same commit are merged.
#[test]
fn invalid_record_is_rejected_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    run(&at("good.jsonl"), &cells(6), None);
    run(&at("other.jsonl"), &cells(9)[6..], None);
    let good = std::fs::read_to_string(at("good.jsonl")).unwrap();
    let lines: Vec<&str> = good.lines().collect();
    assert_eq!(signed(lines[0]), lines[0]);
    let write = |name: &str, lines: &[&str]| std::fs::write(at(name), lines.join("\n") + "\n").unwrap();
    let seed = signed(&lines[1].replacen("\"seed\":1", "\"seed\":77", 1));
    let newer = signed(&lines[2].replacen("\"format\":1", "\"format\":2", 1));
    let digit = lines[0].find("\"mean\":0.").unwrap() + 9;
    let old = &lines[0][digit..=digit];
    let result =
        format!("{}{}{}", &lines[0][..digit], if old == "1" { "2" } else { "1" }, &lines[0][digit + 1..]);
    write("key.jsonl", &[lines[0], &seed, lines[2]]);
    write("newer.jsonl", &[lines[0], lines[1], &newer]);
    write("conflict.jsonl", &[lines[0], lines[1], lines[2], &signed(&result)]);
    std::fs::write(at("returns.jsonl"), good.replace('\n', "\r\n")).unwrap();
    for (name, line, word) in [
        ("key.jsonl", 2, "the key does not fit"),
        ("newer.jsonl", 3, "cannot read"),
        ("conflict.jsonl", 4, "another result"),
        ("returns.jsonl", 1, "edited or damaged"),
    ] {
        let store = at(&format!("{name}.sqlite"));
        let merged = merge_into(&[at(name), at("other.jsonl")], &store);
        assert_eq!((merged.shards, merged.added, merged.refused.len()), (1, 3, 1), "{name}");
        let message = merged.refused[0].to_string();
        assert!(message.contains(&format!("{name}, line {line}: ")) && message.contains(word), "{message}");
        assert_eq!(entries(&store).len(), 3, "{name}");
    }
}

/// A shard cut at any byte gives the complete lines, reports the incomplete one, and is continued.
#[test]
fn shard_cut_anywhere_gives_complete_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    run(&path, &cells(2), None);
    let whole = std::fs::read(&path).unwrap();
    let first = whole.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    for cut in (0..whole.len()).step_by(whole.len() / 60) {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let merged = merge_into(std::slice::from_ref(&path), &folder.path().join(format!("{cut}.sqlite")));
        let lines = usize::from(cut >= first);
        let torn = usize::from(cut != 0 && cut != first);
        assert_eq!((merged.added, merged.torn.len(), merged.refused.len()), (lines, torn, 0), "cut at {cut}");
    }
}

/// Two different results for one cell.
#[test]
fn conflicting_shard_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut outcome = measure(&cells(2)[1], false, &Backend::single()).unwrap();
    outcome.measures[Measure::Accuracy].mean = 0.125;
    let other = Entry::new(&cells(2)[1], &Numerics::this_cpu(), Ok(outcome));
    Store::open(&at("store.sqlite")).unwrap().keep(&[other]).unwrap();
    let before = entries(&at("store.sqlite"));
    run(&at("b.jsonl"), &cells(5), None);
    let merged = merge_into(&[at("b.jsonl")], &at("store.sqlite"));
    assert_eq!((merged.shards, merged.added), (0, 0));
    assert!(
        merged.refused[0].to_string().contains("b.jsonl, line 2: the store has another result"),
        "{merged:?}"
    );
    assert_eq!(entries(&at("store.sqlite")).len(), before.len());
}
