//! The settings that a request may have: those of the three-step early phase, without files.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use superpose_core::config::{Config, ConfigError, Embedding, Settings};
use superpose_lab::cell;

use crate::error::ApiError;

/// Embeddings that the page offers: those without files or further sizes.
pub const EMBEDDINGS: &[Embedding] =
    &[Embedding::Gaussian, Embedding::Sphere, Embedding::Orthonormal, Embedding::Rademacher];

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct RequestSettings(Settings);

impl RequestSettings {
    /// The settings, not validated.
    pub fn settings(self) -> Settings {
        self.0
    }

    /// The validated configuration.
    pub fn check(self) -> Result<Config, ApiError> {
        let config = self.0.check().map_err(ApiError::invalid)?;
        // A cell has one seed; a request may have several.
        cell::check_no_files(&config).map_err(ApiError::invalid)?;
        cell::check(&config.repeat(0)).map_err(ApiError::invalid)?;
        config.three_steps_only().map_err(ApiError::invalid)?;
        if !EMBEDDINGS.contains(&config.embedding.kind()) {
            let allowed = "must be gaussian, sphere, orthonormal or rademacher here";
            return Err(ApiError::invalid(ConfigError::value("embedding", &config.embedding, allowed)));
        }
        Ok(config)
    }
}

impl JsonSchema for RequestSettings {
    fn schema_name() -> Cow<'static, str> {
        "RequestSettings".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Settings::json_schema(generator);
        if let Some(properties) = schema.get_mut("properties").and_then(|all| all.as_object_mut()) {
            // Settings of structured embeddings and of training are refused; they are not written where they do not apply.
            let written = serde_json::to_value(Settings::default()).unwrap_or_default();
            properties.retain(|name, _| written.get(name).is_some() && name != "import");
            let tied = json_schema!({ "enum": ["tied", null] });
            properties.insert("embedding".into(), embedding_schema().into());
            properties.insert("output_embedding".into(), tied.into());
        }
        schema
    }
}

/// The schema of an embedding that the page offers.
pub fn embedding_schema() -> Schema {
    json_schema!({ "type": "string", "enum": EMBEDDINGS })
}
