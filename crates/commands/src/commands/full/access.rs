//! The token of a call: every command that calls a server takes it in the same way.
use clap::builder::NonEmptyStringValueParser;

/// Where a token may stand beside the command line.
const VARIABLE: &str = "OMR_TOKEN";

#[derive(clap::Args, Clone, Default)]
pub(crate) struct TokenArg {
    /// Token of the server's operator; $OMR_TOKEN unless given, else the one that the identity keeps, if there is one
    #[arg(long = "token", value_name = "T", value_parser = NonEmptyStringValueParser::new())]
    argument: Option<String>,
    /// File that holds the token, which other programs of the machine then do not see among the arguments
    #[arg(long = "token-file", value_name = "FILE", value_parser = of_file, conflicts_with = "argument")]
    file: Option<String>,
}

/// The token that a file holds.
fn of_file(path: &str) -> Result<String, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    match text.trim() {
        "" => Err("expected a token in the file, found nothing".to_owned()),
        token => Ok(token.to_owned()),
    }
}

/// Where a token came from: one that the command line has or names was meant for this call, one of the environment perhaps not.
pub(crate) enum Token {
    Argument(String),
    Environment(String),
}

impl TokenArg {
    /// The token of this call, if it has one of its own.
    pub(crate) fn of_call(&self) -> Option<Token> {
        let variable = || std::env::var(VARIABLE).ok().filter(|text| !text.is_empty());
        let given = self.argument.clone().or_else(|| self.file.clone());
        let given = given.map(Token::Argument);
        given.or_else(|| variable().map(Token::Environment))
    }

    /// The same without where it came from.
    pub(crate) fn text(&self) -> Option<String> {
        self.of_call().map(|token| match token {
            Token::Argument(text) | Token::Environment(text) => text,
        })
    }
}
