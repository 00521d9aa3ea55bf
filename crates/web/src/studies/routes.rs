//! Studies over HTTP.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use superpose_figure::Theme;
use superpose_lab::interval::Interval;
use superpose_report::{Section, Table, Value};

use super::export::{Format, body};
use super::{Brief, Opened};
use crate::app::App;
use crate::body::{Choice, Place};
use crate::refusal::Refusal;

/// Rows of a table that are sent; all of them are in the file.
const ROWS: usize = 500;

#[derive(Serialize)]
pub struct List {
    studies: Vec<Brief>,
}

#[derive(Serialize)]
pub struct Detail {
    #[serde(flatten)]
    brief: Brief,
    facts: Vec<(String, String)>,
    sections: Vec<SectionView>,
}

#[derive(Serialize)]
struct SectionView {
    title: &'static str,
    headline: String,
    sentences: Vec<String>,
    pictures: Vec<PictureView>,
    tables: Vec<TableView>,
}

#[derive(Serialize)]
struct PictureView {
    name: &'static str,
    caption: String,
}

#[derive(Serialize)]
struct TableView {
    name: &'static str,
    caption: String,
    columns: Vec<&'static str>,
    rows: Vec<Vec<ValueView>>,
    total: usize,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ValueView {
    Absent(()),
    Text(String),
    Count(usize),
    Number(f64),
    Interval(Interval),
}

impl From<&Section> for SectionView {
    fn from(section: &Section) -> SectionView {
        let pictures = section.pictures.iter();
        SectionView {
            title: section.title,
            headline: section.headline.clone(),
            sentences: section.sentences.clone(),
            pictures: pictures.map(|p| PictureView { name: p.name, caption: p.caption.clone() }).collect(),
            tables: section.tables.iter().map(TableView::from).collect(),
        }
    }
}

impl From<&Table> for TableView {
    fn from(table: &Table) -> TableView {
        let value = |value: &Value| match value {
            Value::Text(text) => ValueView::Text(text.clone()),
            Value::Count(count) => ValueView::Count(*count),
            Value::Number(number) => ValueView::Number(*number),
            Value::Interval(interval) => ValueView::Interval(*interval),
            Value::Absent => ValueView::Absent(()),
        };
        TableView {
            name: table.name,
            caption: table.caption.clone(),
            columns: table.columns.clone(),
            rows: table.rows.iter().take(ROWS).map(|row| row.iter().map(value).collect()).collect(),
            total: table.rows.len(),
        }
    }
}

pub async fn list(State(app): State<Arc<App>>) -> Result<Json<List>, Refusal> {
    let studies = Arc::clone(&app.studies);
    let list = move || Ok(List { studies: studies.all().iter().map(|study| study.brief()).collect() });
    app.disk.run(list).await.map(Json)
}

pub async fn show(State(app): State<Arc<App>>, Place(id): Place<usize>) -> Result<Json<Detail>, Refusal> {
    let study = app.studies.get(id)?;
    let detail = move || {
        let (sections, facts) = study.shown();
        let sections = sections.iter().map(SectionView::from).collect();
        Ok(Detail { brief: study.brief(), facts, sections })
    };
    app.disk.run(detail).await.map(Json)
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Look {
    #[default]
    Light,
    Dark,
}

#[derive(Deserialize)]
pub struct PictureChoice {
    #[serde(default)]
    theme: Look,
}

/// A picture of a section, in the colours of the page.
pub async fn picture(
    State(app): State<Arc<App>>,
    Place((id, name)): Place<(usize, String)>,
    Choice(choice): Choice<PictureChoice>,
) -> Result<Response, Refusal> {
    let study = app.studies.get(id)?;
    let theme = match choice.theme {
        Look::Light => Theme::Light,
        Look::Dark => Theme::Dark,
    };
    let draw = move || drawn(&study, &name, theme);
    let svg = app.disk.run(draw).await?;
    Ok(([(header::CONTENT_TYPE, HeaderValue::from_static("image/svg+xml"))], svg).into_response())
}

fn drawn(study: &Opened, name: &str, theme: Theme) -> Result<String, Refusal> {
    let (sections, _) = study.shown();
    let mut pictures = sections.iter().flat_map(|section| &section.pictures);
    let found = pictures.find(|picture| name.strip_suffix(".svg") == Some(picture.name));
    let missing = || Refusal::missing(format!("there is no picture {name}"));
    found.map(|picture| picture.figure.svg(theme)).ok_or_else(missing)
}

/// A file to keep.
pub async fn file(
    State(app): State<Arc<App>>,
    Place((id, name)): Place<(usize, String)>,
) -> Result<Response, Refusal> {
    let study = app.studies.get(id)?;
    let (looked, wanted) = (Arc::clone(&study), name.clone());
    let known = app.disk.run(move || Ok(looked.files().into_iter().any(|file| file.name == wanted))).await?;
    if !known {
        return Err(Refusal::missing(format!("there is no file {name}")));
    }
    let format = match name.as_str() {
        "cells.csv" => Some(Format::Csv),
        "cells.jsonl" => Some(Format::JsonLines),
        _ => None,
    };
    let mut response = match format {
        Some(format) => {
            let place = Arc::clone(&app.downloads).try_acquire_owned();
            let place = place.map_err(|_| Refusal::busy("too many downloads go on already"))?;
            // What cannot be opened is said before anything is sent.
            let store = app.disk.run(move || study.open_store().map_err(Refusal::missing)).await?;
            body(store, format, place).into_response()
        }
        None => {
            let wanted = name.clone();
            app.disk.run(move || content(&study, &wanted)).await?.into_response()
        }
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind(&name)));
    let last = name.rsplit('/').next().unwrap_or("file");
    if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{last}\"")) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    Ok(response)
}

/// A file of the folder, or one that is made of what a store says.
fn content(study: &Opened, name: &str) -> Result<Vec<u8>, Refusal> {
    let (sections, _) = study.shown();
    match name {
        "runs.svg" => drawn(study, name, Theme::Light).map(String::into_bytes),
        "runs.csv" => {
            let table =
                sections.iter().flat_map(|section| &section.tables).find(|table| table.name == "runs");
            table
                .map(|table| table.csv().into_bytes())
                .ok_or_else(|| Refusal::missing("there is no file runs.csv"))
        }
        _ => {
            study.read(name).map_err(|error| Refusal::new(StatusCode::NOT_FOUND, format!("{name}: {error}")))
        }
    }
}

fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("csv") => "text/csv; charset=utf-8",
        Some("json") => "application/json",
        Some("jsonl") => "application/jsonl",
        Some("html") => "text/html; charset=utf-8",
        _ => "application/octet-stream",
    }
}
