//! Tokens of our text form.

use super::ParseError;

/// A token. Numbers keep their text, since its form decides between integer and float.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Token<'a> {
    /// A word: a mnemonic, a type name, a number.
    Word(&'a str),
    /// `%name`, without the percent sign.
    Value(&'a str),
    /// `@name`, without the at sign.
    Symbol(&'a str),
    /// Punctuation.
    Punct(char),
    /// End of the text.
    End,
}

/// Splits text into tokens. `//` starts a comment.
pub struct Lexer<'a> {
    text: &'a str,
    /// Line of the next token, from 1.
    pub line: usize,
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Self {
        Lexer { text, line: 1 }
    }

    /// An error at the current line.
    pub fn error(&self, message: impl Into<String>) -> ParseError {
        ParseError { line: self.line, message: message.into() }
    }

    fn skip_space(&mut self) {
        loop {
            let trimmed = self.text.trim_start();
            let skipped = &self.text[..self.text.len() - trimmed.len()];
            self.line += skipped.matches('\n').count();
            self.text = trimmed;
            if !trimmed.starts_with("//") {
                return;
            }
            let end = trimmed.find('\n').unwrap_or(trimmed.len());
            self.text = &trimmed[end..];
        }
    }

    /// Takes the next token.
    pub fn next(&mut self) -> Token<'a> {
        self.skip_space();
        let Some(first) = self.text.chars().next() else {
            return Token::End;
        };
        let in_word = |c: char| c.is_ascii_alphanumeric() || "_.+-<>:#".contains(c);
        // A colon belongs to a word only in names such as `aten::embedding`.
        let word_end = |from: &str| {
            let mut end = 0;
            for (i, c) in from.char_indices() {
                let colon = c == ':' && !from[i..].starts_with("::") && !from[..i].ends_with(':');
                if !in_word(c) || colon {
                    break;
                }
                end = i + c.len_utf8();
            }
            end
        };
        if first == '%' || first == '@' {
            let rest = &self.text[1..];
            let end = word_end(rest);
            self.text = &rest[end..];
            return if first == '%' { Token::Value(&rest[..end]) } else { Token::Symbol(&rest[..end]) };
        }
        let end = word_end(self.text);
        if end > 0 {
            let word = &self.text[..end];
            self.text = &self.text[end..];
            return Token::Word(word);
        }
        self.text = &self.text[first.len_utf8()..];
        Token::Punct(first)
    }

    /// The next token, not taken.
    pub fn peek(&self) -> Token<'a> {
        Lexer { text: self.text, line: 0 }.next()
    }

    /// Takes the next token when it is this punctuation.
    pub fn accept(&mut self, c: char) -> bool {
        let found = self.peek() == Token::Punct(c);
        if found {
            self.next();
        }
        found
    }

    /// Takes this punctuation.
    pub fn expect(&mut self, c: char) -> Result<(), ParseError> {
        match self.next() {
            Token::Punct(found) if found == c => Ok(()),
            other => Err(self.error(format!("expected '{c}', found {other:?}"))),
        }
    }

    /// Takes a word.
    pub fn word(&mut self) -> Result<&'a str, ParseError> {
        match self.next() {
            Token::Word(w) => Ok(w),
            other => Err(self.error(format!("expected a word, found {other:?}"))),
        }
    }

    /// Takes this word.
    pub fn keyword(&mut self, word: &str) -> Result<(), ParseError> {
        let found = self.word()?;
        if found == word {
            return Ok(());
        }
        Err(self.error(format!("expected '{word}', found '{found}'")))
    }

    /// Takes a `%name`.
    pub fn value(&mut self) -> Result<&'a str, ParseError> {
        match self.next() {
            Token::Value(w) => Ok(w),
            other => Err(self.error(format!("expected a value, found {other:?}"))),
        }
    }
}
