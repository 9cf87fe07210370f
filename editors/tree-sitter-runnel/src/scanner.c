// The tokens of Runnel that depend on characters further on, after crates/syntax/src/lexer.rs and parser/: comments,
// line ends that end a statement, texts, paths of references, words that begin a definition, `#` and what follows.
//
// A scanner reads forwards only: what it returns ends at the last `mark_end`, so each function marks the end of its
// token before it looks further on. Each look ahead is bounded by a line or by MAX_COMMENT.

#include "reading.h"
#include "text_comment.h"
#include "tree_sitter/alloc.h"

typedef struct {
    // Characters of a text comment that follow its first part.
    uint32_t comment_rest;
} Scanner;

// Contents of texts and paths: white space and comments mean nothing there.

static bool scan_content(TSLexer *lexer, enum TokenType type) {
    bool any = false;
    while (!lexer->eof(lexer)) {
        int32_t c = lexer->lookahead;
        bool ends = c == '\\' || (type == STRING_CONTENT && c == '\'')
            || (type == QUOTED_CONTENT && (c == 0x2018 || c == 0x2019))
            || (type == INTERPOLATED_CONTENT && (c == '"' || c == '{'));
        if (ends) break;
        advance(lexer);
        any = true;
    }
    return any && accept_here(lexer, type);
}

// The text of a path, up to white space, a bracket, a mark or an interpolation. A period that nothing of the path
// follows is no part of it, but for one in the first place.
static bool scan_path_text(TSLexer *lexer, bool first, bool any, enum TokenType type) {
    if (any) lexer->mark_end(lexer);
    for (;;) {
        int32_t c = lexer->lookahead;
        if (lexer->eof(lexer) || ends_path(c) || c == '{') break;
        bool alone = first && !any;
        advance(lexer);
        if (c == '.' && !alone && ends_path(lexer->lookahead)) break;
        lexer->mark_end(lexer);
        any = true;
    }
    return any && accept(lexer, type);
}

static bool scan_path(TSLexer *lexer, const bool *valid) {
    bool first = valid[PATH_START];
    int32_t c = lexer->lookahead;
    if (valid[REF_SCHEME] && is_word(c)) {
        int32_t after;
        read_word(lexer, &after, true);
        bool colon = after == ':' && lexer->lookahead == ':';
        if (colon) {
            advance(lexer);
            if (lexer->lookahead != '=') return accept_here(lexer, REF_SCHEME);
            return accept(lexer, PATH_START);
        }
        // A period behind the name that ends the statement was read already.
        if (after == '.' && ends_path(lexer->lookahead)) return accept(lexer, PATH_START);
        return scan_path_text(lexer, first, true, PATH_START);
    }
    if (c == '{') {
        advance(lexer);
        return valid[PATH_BRACE] && accept_here(lexer, PATH_BRACE);
    }
    if (first && (c == '(' || c == '#')) return false;
    return scan_path_text(lexer, first, false, first ? PATH_START : PATH_REST);
}

// Comments.

static bool scan_line_comment(TSLexer *lexer) {
    while (!lexer->eof(lexer) && lexer->lookahead != '\n') {
        bool blank = is_space(lexer->lookahead);
        advance(lexer);
        if (!blank) lexer->mark_end(lexer);
    }
    return accept(lexer, COMMENT);
}

static bool scan_text_comment(Scanner *scanner, TSLexer *lexer, const bool *valid) {
    Buffer text;
    Buffer *buffer = &text;
    buffer->lexer = lexer;
    buffer->length = 0;
    buffer->simple = 0;
    lexer->mark_end(lexer);
    uint32_t nested = nested_end(buffer);
    uint32_t simple = buffer->simple;
    if (simple == 0) return false;
    // Between members of a class only a comment can stand.
    bool certain = !valid[SYMBOL];
    if (nested && (certain || is_comment_end(buffer, nested))) {
        scanner->comment_rest = nested - simple;
        return accept(lexer, TEXT_COMMENT);
    }
    return (certain || is_comment_end(buffer, simple)) && accept(lexer, TEXT_COMMENT);
}

// A comment that begins with `#` in the first column, or a literal. Without `mark` only a comment is of interest, and
// the end of another token stays where it is.
static bool scan_hash(TSLexer *lexer, const bool *valid, bool first, bool mark) {
    advance(lexer);
    int32_t c = lexer->lookahead;
    if (first) {
        if (lexer->eof(lexer) || c == '!' || c == '#' || is_space(c)) {
            lexer->mark_end(lexer);
            return scan_line_comment(lexer);
        }
        if (c == '-') {
            advance(lexer);
            if (mark) lexer->mark_end(lexer);
            if (lexer->eof(lexer) || lexer->lookahead == '-' || is_space(lexer->lookahead)) {
                lexer->mark_end(lexer);
                return scan_line_comment(lexer);
            }
            return valid[SIGNATURE] && accept(lexer, SIGNATURE);
        }
    }
    if (!is_word(c)) return false;
    int32_t after;
    read_word(lexer, &after, mark);
    if (valid[KEY_SYMBOL]) return accept(lexer, KEY_SYMBOL);
    if (after == '.' || after == '-') return valid[SYMBOL] && accept(lexer, SYMBOL);
    if (valid[TAG] && (after == '[' || after == '(')) return accept(lexer, TAG);
    // A statement that is commented out: `#name := 3`, `#name message`. Or the rest of a symbol such as `#at:put:`.
    bool assigned = false;
    while (lexer->lookahead == ':' && !assigned) {
        advance(lexer);
        assigned = lexer->lookahead == '=';
        if (assigned || lexer->lookahead == ':') break;
        if (mark) lexer->mark_end(lexer);
        if (!begins_name(lexer->lookahead)) return valid[SYMBOL] && accept(lexer, SYMBOL);
        read_word(lexer, &after, mark);
    }
    bool spaced = lexer->lookahead == ' ' || lexer->lookahead == '\t';
    advance_blanks(lexer);
    if (valid[TAG] && lexer->lookahead == '{') return accept(lexer, TAG);
    if (first && (assigned || (spaced && is_word(lexer->lookahead)) || at_assignment(lexer))) {
        lexer->mark_end(lexer);
        return scan_line_comment(lexer);
    }
    return valid[SYMBOL] && accept(lexer, SYMBOL);
}

// `/[a-z]+/` where an operand begins, on one line.
static bool scan_pattern(TSLexer *lexer) {
    int32_t c = lexer->lookahead;
    if (c == '/' || c == '*' || is_space(c)) return false;
    bool in_class = false;
    for (; !lexer->eof(lexer) && lexer->lookahead != '\n'; advance(lexer)) {
        c = lexer->lookahead;
        if (c == '\\') {
            advance(lexer);
            if (lexer->eof(lexer) || lexer->lookahead == '\n') return false;
        } else if (c == '[') {
            in_class = true;
        } else if (c == ']') {
            in_class = false;
        } else if (c == '/' && !in_class) {
            advance(lexer);
            c = lexer->lookahead;
            bool is_path = continues_name(c) || c == ':' || c == '*' || c == '/';
            return !is_path && accept_here(lexer, PATTERN);
        }
    }
    return false;
}

// Words.

// Whether a declared type can stand here.
static bool at_type(TSLexer *lexer) {
    if (lexer->lookahead != '<') return false;
    advance(lexer);
    return is_word(lexer->lookahead) || lexer->lookahead == '\'' || lexer->lookahead == '[';
}

// Whether a definition follows its word: a name, and a brace, a bar or a colon, or a name with a capital.
static bool definition_follows(TSLexer *lexer, bool template) {
    bool newline = advance_gap(lexer);
    if (!is_word(lexer->lookahead)) return false;
    int32_t after;
    Word name = read_word(lexer, &after, false);
    if (after == '.' || after == '-') return !newline && name.capital;
    bool keyword = after == ':';
    if (keyword) {
        advance(lexer);
        if (lexer->lookahead == '=' || lexer->lookahead == ':') return !newline && name.capital;
    }
    if (newline && !(name.capital && keyword)) return false;
    if (name.capital) return true;
    bool second_newline = advance_gap(lexer);
    int32_t c = lexer->lookahead;
    if (keyword) {
        if (template) return c == '#' && !second_newline;
        if (!is_word(c)) return false;
        read_word(lexer, &after, false);
        return !advance_gap(lexer) && lexer->lookahead == '{';
    }
    if (c == '{') return true;
    if (c != '|' && c != ':') return false;
    advance(lexer);
    return c == '|' ? lexer->lookahead == '{' : lexer->lookahead != '=' && lexer->lookahead != ':';
}

// Whether a line such as `-name {` or `+at: x put: y {` begins a method, behind its sign.
static bool at_method_head(TSLexer *lexer) {
    if (lexer->lookahead == '<') {
        while (lexer->lookahead != '>') {
            if (lexer->eof(lexer) || lexer->lookahead == '\n') return false;
            advance(lexer);
        }
        advance(lexer);
    }
    if (!is_word(lexer->lookahead)) return false;
    bool parameter = false;
    for (;;) {
        int32_t after;
        if (lexer->lookahead == '<') {
            while (lexer->lookahead != '>' && lexer->lookahead != '\n' && !lexer->eof(lexer)) advance(lexer);
            advance(lexer);
        }
        if (!is_word(lexer->lookahead)) return false;
        read_word(lexer, &after, false);
        if (after == '.' || after == '-') return false;
        if (lexer->lookahead == ':') {
            if (parameter) return false;
            advance(lexer);
            parameter = true;
        } else {
            // The name of a unary message, or of a parameter.
            advance_blanks(lexer);
            if (lexer->lookahead == '{') return true;
            if (!parameter) return false;
            parameter = false;
            continue;
        }
        advance_blanks(lexer);
    }
}

// Whether the rest of a line, behind its slash, is a path and a brace with a verb in it.
static bool at_path_head(TSLexer *lexer) {
    if (is_space(lexer->lookahead)) return false;
    while (!lexer->eof(lexer) && !is_space(lexer->lookahead) && lexer->lookahead != '{') advance(lexer);
    if (lexer->lookahead != ' ') return false;
    advance_blanks(lexer);
    if (lexer->lookahead != '{') return false;
    advance(lexer);
    advance_gap(lexer);
    int32_t after;
    if (!is_word(lexer->lookahead)) return false;
    Word word = read_word(lexer, &after, false);
    return is_one_of(&word, VERBS);
}

// A word behind a complete expression, where a line begins with it: a keyword message, or a new statement.
static bool scan_word_on_line(TSLexer *lexer, const bool *valid) {
    int32_t after;
    Word word = read_word(lexer, &after, false);
    if (after != ':' || lexer->lookahead != ':') return accept(lexer, END);
    advance(lexer);
    int32_t c = lexer->lookahead;
    if (c == '=' || c == ':') return accept(lexer, END);
    if (is_space(c) && is_one_of(&word, TIMERS)) return accept(lexer, END);
    bool continues;
    if (c == '(') continues = true;
    else if (c == '{' || c == '[' || c == '"' || c == '#' || is_quote(c)) continues = valid[KEYWORD_NEXT];
    else continues = ends_path(c);
    if (!continues) return accept(lexer, END);
    lexer->mark_end(lexer);
    if (valid[KEYWORD_NEXT]) return accept(lexer, KEYWORD_NEXT);
    return accept(lexer, valid[KEYWORD_FIRST] ? KEYWORD_FIRST : END);
}

// Whether a statement ends before the token that begins a line. The end has no length.
static bool scan_end(TSLexer *lexer, const bool *valid, bool first) {
    lexer->mark_end(lexer);
    int32_t c = lexer->lookahead;
    if (lexer->eof(lexer) || c == '}' || c == ')' || c == ']' || c == '.') return false;
    if (is_word(c)) return scan_word_on_line(lexer, valid);
    switch (c) {
        case ',': case ';': case '?': case '*': case '<': case '>': case '&': case '%': case '~': case '@':
        case 0x2264: case 0x2265: case 0x2260: case 0xf7: case 0xd7: case 0xb7: case 0x2190: case 0x21e6:
        case 0x2192: case 0x21e8:
            return false;
        case '|':
            advance(lexer);
            return lexer->lookahead == '{' && accept(lexer, END);
        case '+':
        case '-':
            advance(lexer);
            return at_method_head(lexer) && accept(lexer, END);
        case '/':
            advance(lexer);
            return at_path_head(lexer) && accept(lexer, END);
        case '!':
            advance(lexer);
            return first && lexer->lookahead != '!' && !is_space(lexer->lookahead) && accept(lexer, END);
        case '=':
            advance(lexer);
            if (lexer->lookahead != '|') return false;
            advance(lexer);
            return lexer->lookahead != '=' && accept(lexer, END);
        case ':':
            advance(lexer);
            if (lexer->lookahead == ':') advance(lexer);
            return lexer->lookahead != '=' && accept(lexer, END);
        default:
            return accept(lexer, END);
    }
}

static bool scan_word(TSLexer *lexer, const bool *valid) {
    int32_t after;
    Word word = read_word(lexer, &after, true);
    if (after == ':' && lexer->lookahead == ':') {
        advance(lexer);
        int32_t c = lexer->lookahead;
        if (c == '=' || c == ':') return false;
        lexer->mark_end(lexer);
        if (valid[KEYWORD_NEXT]) return accept(lexer, KEYWORD_NEXT);
        if (valid[KEYWORD_FIRST]) return accept(lexer, KEYWORD_FIRST);
        if (valid[TIMER] && is_space(c) && is_one_of(&word, TIMERS)) return accept(lexer, TIMER);
        if (valid[REF] && equals(&word, "ref")) return accept(lexer, REF);
        return valid[SCHEME] && accept(lexer, SCHEME);
    }
    if (after == '.' || after == '-') return false;
    if (valid[VAR] && equals(&word, "var")) {
        bool newline = advance_gap(lexer);
        bool follows = at_type(lexer) || (!newline && is_word(lexer->lookahead));
        return follows && accept(lexer, VAR);
    }
    if (valid[DEFINITION_KEYWORD] && is_one_of(&word, DEFINITIONS)) {
        return definition_follows(lexer, false) && accept(lexer, DEFINITION_KEYWORD);
    }
    if (valid[OBJECT] && equals(&word, "object")) {
        return definition_follows(lexer, true) && accept(lexer, OBJECT);
    }
    if (valid[TEST] && equals(&word, "test")) {
        return !advance_gap(lexer) && is_quote(lexer->lookahead) && accept(lexer, TEST);
    }
    return false;
}

static bool scan(Scanner *scanner, TSLexer *lexer, const bool *valid) {
    // The parser asks for every token where it recovers from an error: only comments are certain there.
    bool recovers = valid[ERROR_SENTINEL];
    if (scanner->comment_rest > 0 && valid[TEXT_COMMENT_REST] && !recovers) {
        for (; scanner->comment_rest > 0 && !lexer->eof(lexer); scanner->comment_rest--) advance(lexer);
        scanner->comment_rest = 0;
        return accept_here(lexer, TEXT_COMMENT_REST);
    }
    scanner->comment_rest = 0;
    if (!recovers) {
        if (valid[STRING_CONTENT]) return scan_content(lexer, STRING_CONTENT);
        if (valid[QUOTED_CONTENT]) return scan_content(lexer, QUOTED_CONTENT);
        if (valid[INTERPOLATED_CONTENT]) return scan_content(lexer, INTERPOLATED_CONTENT);
        bool in_path = valid[PATH_START] || valid[PATH_REST];
        if (in_path && !lexer->eof(lexer) && !ends_path(lexer->lookahead)) return scan_path(lexer, valid);
    }
    bool newline = false, first = false, skipped = false;
    for (; is_space(lexer->lookahead); skip(lexer)) {
        skipped = true;
        first = lexer->lookahead == '\n' || lexer->lookahead == 0xfeff;
        newline |= lexer->lookahead == '\n';
    }
    int32_t c = lexer->lookahead;
    // Without white space before it, only the first token of a program stands in the first column.
    if (!skipped && (c == '#' || c == '!')) first = valid[SIGNATURE] && lexer->get_column(lexer) == 0;
    if (c == '#') {
        // A comment is read first; a symbol that begins a line follows the end of the statement before it.
        bool ends = newline && !recovers && (valid[END] || valid[LINE_END]);
        lexer->mark_end(lexer);
        bool found = scan_hash(lexer, valid, first, !ends);
        if (found && lexer->result_symbol == COMMENT) return true;
        if (!ends) return found && !recovers;
        // What was read is no part of a token that has no length.
        return accept(lexer, valid[LINE_END] ? LINE_END : END);
    }
    if (c == '/') {
        lexer->mark_end(lexer);
        advance(lexer);
        if (lexer->lookahead == '/') return scan_line_comment(lexer);
        if (recovers) return false;
        if (newline && valid[LINE_END]) return accept(lexer, LINE_END);
        if (newline && valid[END]) return at_path_head(lexer) && accept(lexer, END);
        return valid[PATTERN] && scan_pattern(lexer);
    }
    if (recovers) return false;
    if (valid[LINE_END] && (newline || lexer->eof(lexer))) return accept_here(lexer, LINE_END);
    if (valid[END] && newline) return scan_end(lexer, valid, first);
    if (c == '"' && valid[TEXT_COMMENT]) return scan_text_comment(scanner, lexer, valid);
    if (c == '!' && first && valid[SHELL_COMMAND]) {
        advance(lexer);
        if (lexer->lookahead == '!' || is_space(lexer->lookahead)) return false;
        advance_line(lexer);
        return accept_here(lexer, SHELL_COMMAND);
    }
    return is_word(c) && scan_word(lexer, valid);
}

// The interface of tree-sitter.

void *tree_sitter_runnel_external_scanner_create(void) { return ts_calloc(1, sizeof(Scanner)); }

void tree_sitter_runnel_external_scanner_destroy(void *payload) { ts_free(payload); }

unsigned tree_sitter_runnel_external_scanner_serialize(void *payload, char *buffer) {
    memcpy(buffer, payload, sizeof(Scanner));
    return sizeof(Scanner);
}

void tree_sitter_runnel_external_scanner_deserialize(void *payload, const char *buffer, unsigned length) {
    memset(payload, 0, sizeof(Scanner));
    if (length == sizeof(Scanner)) memcpy(payload, buffer, length);
}

bool tree_sitter_runnel_external_scanner_scan(void *payload, TSLexer *lexer, const bool *valid_symbols) {
    return scan(payload, lexer, valid_symbols);
}
