//! The stub of the Python class `Settings`, with a keyword and a property for each setting, and the types of the keywords of experiments.

use superpose_core::config::{Kind, Setting, Settings, Value};
use superpose_report::EXPERIMENTS;

/// The file `python/superpose/_settings.pyi`.
pub fn stub() -> String {
    let mut text = String::from(
        "# Written from the code by `cargo xtask reference`. Change the definitions of settings, not this file.\n\
         import inspect\nfrom typing import Any, ClassVar, Dict, Literal, Optional\n\nfrom typing_extensions import Self\n\n\
         from . import _engine\nfrom ._given import Number, Path\n\n\
         class Settings(_engine.Config):\n    __signature__: ClassVar[inspect.Signature]\n    def __new__(\n        cls,\n        *,\n",
    );
    for setting in Settings::settings() {
        let default = literal(&setting.default);
        let kind = optional(setting, &types(setting)[0]);
        text += &format!("        {}: {kind} = {default},\n", name_of(setting));
    }
    text += "    ) -> Self: ...\n";
    for setting in Settings::settings() {
        let kind = optional(setting, &types(setting)[1]);
        text += &format!("    @property\n    def {}(self) -> {kind}: ...\n", name_of(setting));
    }
    text += "    def to_dict(self) -> Dict[str, Any]: ...\n    def replace(self, **keys: Any) -> Self: ...\n    \
             def _given(self) -> Dict[str, Any]: ...\n\ndef described() -> str: ...\ndef named(keys: Dict[str, Any]) -> Dict[str, Any]: ...\ndef written(keys: Dict[str, Any]) -> Dict[str, Any]: ...\n";
    text
}

/// The file `python/superpose/_keys.py`.
pub fn keys() -> String {
    let mut text = String::from(
        "# Written from the code by `cargo xtask reference`. Change the definitions of settings, not this file.\n\
         \"\"\"The keywords that experiments take, for type checkers.\"\"\"\n\nfrom __future__ import annotations\n\n\
         from typing import Literal, Optional, TypedDict\n\nfrom ._arrays import Embeddings\nfrom ._given import Number, Path\nfrom ._task import Task\n\n\n\
         class Keys(Embeddings, total=False):\n    \"\"\"Settings of one cell, embeddings and a task.\"\"\"\n\n",
    );
    for setting in Settings::settings().iter().filter(|setting| setting.name != "repeats") {
        text += &format!("    {}: {}\n", name_of(setting), optional(setting, &types(setting)[0]));
    }
    text += "    task: Optional[Task]\n\n\nclass RepeatKeys(Keys, total=False):\n    \"\"\"The same with a number of repeats.\"\"\"\n\n    repeats: Number\n";
    let experiment = |name: &str| EXPERIMENTS.iter().find(|experiment| experiment.name == name);
    for (class, base, name) in
        [("BoundKeys", "Embeddings", "bound"), ("EstimateKeys", "TypedDict", "estimate")]
    {
        text +=
            &format!("\n\nclass {class}({base}, total=False):\n    \"\"\"Settings of ``{name}``.\"\"\"\n\n");
        let all = experiment(name).map(|experiment| (experiment.settings)()).unwrap_or_default();
        for setting in
            all.iter().filter(|setting| Settings::settings().iter().any(|one| one.name == setting.name))
        {
            text += &format!("    {}: {}\n", name_of(setting), optional(setting, &types(setting)[0]));
        }
    }
    text
}

/// The name in Python, where `import` is a keyword.
fn name_of(setting: &Setting) -> &'static str {
    if setting.name == "import" { "import_" } else { setting.name }
}

/// The words of a setting as a type.
fn words(setting: &Setting) -> String {
    let words: Vec<String> = setting.words().map(|(word, _)| format!("\"{word}\"")).collect();
    format!("Literal[{}]", words.join(", "))
}

/// The types that a setting is given as and read as.
fn types(setting: &Setting) -> [String; 2] {
    match setting.kind {
        Kind::Flag => ["bool", "bool"].map(String::from),
        Kind::Count => ["Number", "int"].map(String::from),
        Kind::Number => ["Number", "float"].map(String::from),
        Kind::Text if setting.symbol == Some("FILE") => ["Path", "str"].map(String::from),
        Kind::Word(_) => [words(setting), words(setting)],
        Kind::Pattern { .. } | Kind::Text => ["str", "str"].map(String::from),
    }
}

fn optional(setting: &Setting, kind: &str) -> String {
    if setting.optional { format!("Optional[{kind}]") } else { kind.into() }
}

fn literal(value: &Value) -> String {
    match value {
        Value::Null => "None".into(),
        Value::Flag(flag) => if *flag { "True" } else { "False" }.into(),
        Value::Count(count) => count.to_string(),
        Value::Number(x) => format!("{x:?}"),
        Value::Text(text) => format!("\"{text}\""),
    }
}
