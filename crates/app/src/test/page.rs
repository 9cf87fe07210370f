//! Pages: Markdown text read as sections of fenced blocks.

/// Bytes of a page beyond which it is refused.
pub(crate) const LARGEST_PAGE: usize = 4 << 20;

/// What a fenced block is to the runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FenceKind {
    /// ` ```runnel `: source text.
    Source,
    /// ` ```in `: standard input of the source before it.
    Input,
    /// ` ```out `: what that source writes.
    Output,
    /// ` ```error `: how that source fails.
    Error,
    /// ` ```http `: a conversation with the server that it started.
    Conversation,
    /// ` ```sh `: commands and what they print.
    Shell,
    /// ` ```file NAME `: a file in the section's folder.
    File,
}

/// A fenced block.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fence {
    pub(crate) kind: FenceKind,
    /// The words after the kind.
    pub(crate) words: Vec<String>,
    /// The page's line of the opening fence, from 1.
    pub(crate) line: usize,
    /// The text between the fences; each line ends with a newline.
    pub(crate) text: String,
}

impl Fence {
    /// The line after the last line of its text: that of the closing fence.
    pub(crate) fn end(&self) -> usize {
        self.line + 1 + self.text.lines().count()
    }

    pub(crate) fn says(&self, word: &str) -> bool {
        self.words.iter().any(|one| one == word)
    }
}

/// A heading with the blocks up to the next heading: one test.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Section {
    pub(crate) name: String,
    /// The line of the heading.
    pub(crate) line: usize,
    pub(crate) fences: Vec<Fence>,
    /// The files of earlier sections.
    pub(crate) files: Vec<Fence>,
}

/// The sections that have something to run, or the line and the fault of the page.
pub(crate) fn read(text: &str) -> Result<Vec<Section>, (usize, String)> {
    if text.len() > LARGEST_PAGE {
        return Err((1, format!("the page is larger than {} MiB", LARGEST_PAGE >> 20)));
    }
    let mut reader = Reader::default();
    for (number, line) in text.lines().enumerate() {
        reader.line(number + 1, line)?;
    }
    if let Some(open) = reader.open {
        return Err((open.line, "this fenced block is never closed".into()));
    }
    let mut files: Vec<Fence> = Vec::new();
    let mut sections = Vec::new();
    for mut section in reader.sections {
        section.files = files.clone();
        files.extend(section.fences.iter().filter(|fence| fence.kind == FenceKind::File).cloned());
        if section.fences.iter().any(|fence| fence.kind != FenceKind::File) {
            sections.push(section);
        }
    }
    Ok(sections)
}

/// A fence that is open: its mark, and the block unless it is none of ours.
struct Open {
    line: usize,
    mark: String,
    fence: Option<Fence>,
}

#[derive(Default)]
struct Reader {
    sections: Vec<Section>,
    open: Option<Open>,
}

impl Reader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), (usize, String)> {
        if let Some(open) = &mut self.open {
            let closes = line.trim();
            if closes.starts_with(&open.mark)
                && closes.trim_start_matches(&open.mark[..1]).is_empty()
            {
                let fence = self.open.take().and_then(|open| open.fence);
                return self.close(fence);
            }
            if let Some(fence) = &mut open.fence {
                fence.text.push_str(line);
                fence.text.push('\n');
            }
            return Ok(());
        }
        let trimmed = line.trim_start();
        if let Some(mark) = mark(line) {
            let fence = fence(number, &trimmed[mark.len()..])?;
            self.open = Some(Open { line: number, mark, fence });
        } else if let Some(name) = heading(line) {
            self.sections.push(Section {
                name,
                line: number,
                fences: Vec::new(),
                files: Vec::new(),
            });
        }
        Ok(())
    }

    fn close(&mut self, fence: Option<Fence>) -> Result<(), (usize, String)> {
        let Some(fence) = fence else { return Ok(()) };
        if self.sections.is_empty() {
            return Err((fence.line, "this block stands before the first heading".into()));
        }
        let section = self.sections.len() - 1;
        let fences = &mut self.sections[section].fences;
        let belongs = matches!(
            fence.kind,
            FenceKind::Input | FenceKind::Output | FenceKind::Error | FenceKind::Conversation
        );
        let source = fences.iter().rev().find(|one| {
            !matches!(
                one.kind,
                FenceKind::Input | FenceKind::Output | FenceKind::Error | FenceKind::Conversation
            )
        });
        if belongs && source.is_none_or(|one| one.kind != FenceKind::Source) {
            return Err((fence.line, "this block follows no `runnel` block".into()));
        }
        fences.push(fence);
        Ok(())
    }
}

/// The mark of an opening fence: three or more backquotes or tildes, indented by at most three.
fn mark(line: &str) -> Option<String> {
    let trimmed = line.trim_start_matches(' ');
    if line.len() - trimmed.len() > 3 {
        return None;
    }
    let first = trimmed.chars().next().filter(|first| matches!(first, '`' | '~'))?;
    let mark: String = trimmed.chars().take_while(|one| *one == first).collect();
    (mark.len() >= 3).then_some(mark)
}

fn heading(line: &str) -> Option<String> {
    let marks = line.bytes().take_while(|byte| *byte == b'#').count();
    let name = line[marks..].strip_prefix(' ').filter(|_| (1..=6).contains(&marks))?;
    Some(name.trim().trim_end_matches('#').trim_end().replace('`', ""))
}

/// The block that an info text begins; `None` when it is none of ours.
fn fence(line: usize, info: &str) -> Result<Option<Fence>, (usize, String)> {
    let mut words = info.split_whitespace().map(String::from);
    let first = words.next().unwrap_or_default();
    let kind = match &*first {
        "runnel" => FenceKind::Source,
        "in" => FenceKind::Input,
        "out" => FenceKind::Output,
        "error" => FenceKind::Error,
        "http" => FenceKind::Conversation,
        "sh" => FenceKind::Shell,
        "file" => FenceKind::File,
        _ => return Ok(None),
    };
    let words: Vec<String> = words.collect();
    let known = match kind {
        FenceKind::File => words.len() == 1,
        FenceKind::Conversation => words.iter().all(|word| word == "once"),
        _ => words.is_empty(),
    };
    if !known && kind != FenceKind::File {
        let fault = format!("`{}` means nothing behind `{first}`", words.join(" "));
        return Err((line, fault));
    }
    if kind == FenceKind::File {
        let name = words.first().map_or("", String::as_str);
        let plain = known
            && !name.is_empty()
            && name.split('/').all(|part| !matches!(part, "" | "." | ".."));
        if !plain {
            return Err((line, "a `file` block needs a name such as `notes/a.txt`".into()));
        }
    }
    Ok(Some(Fence { kind, words, line, text: String::new() }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const PAGE: &str = "# A page\n\ntext\n\n```runnel\n3 + 4 // => 7\n```\n\n## Files\n\n\
        ```file a.txt\nhi\n```\n\n```html\n<p>\n```\n\n## Last `one`\n\n\
        ~~~~sh\n$ cat a.txt\n```\nhi\n~~~~\n";

    #[test]
    fn sections_hold_their_blocks_and_the_files_before_them() {
        let sections = read(PAGE).unwrap();
        let names: Vec<&str> = sections.iter().map(|section| section.name.as_str()).collect();
        assert_eq!(names, ["A page", "Last one"]);
        assert_eq!(sections[0].fences[0].text, "3 + 4 // => 7\n");
        assert_eq!((sections[0].fences[0].line, sections[0].fences[0].end()), (5, 7));
        assert_eq!(sections[1].files[0].words, ["a.txt"]);
        assert_eq!(sections[1].fences[0].text, "$ cat a.txt\n```\nhi\n");
    }

    #[test]
    fn faults_have_a_line() {
        assert_eq!(read("# A\n```runnel\n3\n").unwrap_err().0, 2);
        assert_eq!(read("# A\n\n```out\n3\n```\n").unwrap_err().0, 3);
        assert_eq!(read("# A\n```file ../x\n```\n").unwrap_err().0, 2);
        assert_eq!(read("```runnel\n3\n```\n").unwrap_err().0, 1);
    }

    #[test]
    fn foreign_blocks_are_left_alone_and_no_example_is_skipped() {
        assert_eq!(read("# A\n```json\n{}\n```\n").unwrap(), []);
        let (line, fault) = read("# A\n```runnel skip\n3 +\n```\n").unwrap_err();
        assert_eq!((line, &*fault), (2, "`skip` means nothing behind `runnel`"));
        assert_eq!(read("# A\n```sh once\n$ a\n```\n").unwrap_err().0, 2);
        assert!(read("# A\n```runnel\n3\n```\n```http once\nGET / → 200\n```\n").is_ok());
    }
}
