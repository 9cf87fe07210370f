// Characters, reading, and words: the lexer below the tokens of scanner.c.

#ifndef RUNNEL_READING_H
#define RUNNEL_READING_H

#include "tree_sitter/parser.h"
#include <string.h>

// The order of `externals` in grammar.js.
enum TokenType {
    COMMENT,
    TEXT_COMMENT,
    TEXT_COMMENT_REST,
    END,
    LINE_END,
    STRING_CONTENT,
    QUOTED_CONTENT,
    INTERPOLATED_CONTENT,
    PATH_START,
    PATH_REST,
    PATH_BRACE,
    REF,
    REF_SCHEME,
    SCHEME,
    KEYWORD_FIRST,
    KEYWORD_NEXT,
    TIMER,
    DEFINITION_KEYWORD,
    OBJECT,
    VAR,
    TEST,
    SYMBOL,
    KEY_SYMBOL,
    TAG,
    SIGNATURE,
    PATTERN,
    SHELL_COMMAND,
    ERROR_SENTINEL,
};

// The longest word that is compared with words of the language.
#define MAX_WORD 16

typedef struct {
    char text[MAX_WORD];
    unsigned length;
    bool capital;
} Word;

// Characters, as in crates/syntax/src/characters.rs.

static bool is_space(int32_t c) {
    return (c > 0 && c <= 0x20) || (c >= 0x7f && c <= 0xa0) || c == 0x1680 || (c >= 0x2000 && c <= 0x200b)
        || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000 || c == 0xfeff;
}

static bool is_digit(int32_t c) { return c >= '0' && c <= '9'; }

static bool begins_name(int32_t c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool continues_name(int32_t c) { return begins_name(c) || is_digit(c); }

// Letters beyond ASCII, nearly: the marks that mean something are none.
static bool is_letter_beyond_ascii(int32_t c) {
    return c >= 0xaa && !is_space(c) && c != 0xb7 && c != 0xd7 && c != 0xf7 && (c < 0x2000 || c > 0x2bff)
        && c != 0xfffd;
}

static bool is_word(int32_t c) { return begins_name(c) || is_letter_beyond_ascii(c); }

static bool is_quote(int32_t c) { return c == '\'' || c == 0x2018 || c == 0x2019; }

static bool ends_path(int32_t c) {
    return c == 0 || is_space(c) || (c < 0x80 && strchr(")]},;|['\"", (int)c) != NULL);
}

// Reading.

static void advance(TSLexer *lexer) { lexer->advance(lexer, false); }

static void skip(TSLexer *lexer) { lexer->advance(lexer, true); }

static bool accept(TSLexer *lexer, enum TokenType type) {
    lexer->result_symbol = type;
    return true;
}

static bool accept_here(TSLexer *lexer, enum TokenType type) {
    lexer->mark_end(lexer);
    return accept(lexer, type);
}

static void advance_blanks(TSLexer *lexer) {
    while (lexer->lookahead == ' ' || lexer->lookahead == '\t') advance(lexer);
}

static void advance_line(TSLexer *lexer) {
    while (!lexer->eof(lexer) && lexer->lookahead != '\n') advance(lexer);
}

// White space and comments between two tokens of a look ahead; whether a line ended.
static bool advance_gap(TSLexer *lexer) {
    bool newline = false;
    while (is_space(lexer->lookahead)) {
        newline |= lexer->lookahead == '\n';
        advance(lexer);
    }
    return newline;
}

// Reads a name. A minus or a period belongs to it when more of the name follows. Where one does not, the name ended
// before it and `after` says what was there; otherwise `after` is the next character.
static Word read_word(TSLexer *lexer, int32_t *after, bool mark) {
    Word word = {.length = 0, .capital = lexer->lookahead >= 'A' && lexer->lookahead <= 'Z'};
    memset(word.text, 0, sizeof word.text);
    for (;;) {
        int32_t c = lexer->lookahead;
        if (!continues_name(c) && !is_letter_beyond_ascii(c)) {
            if (mark) lexer->mark_end(lexer);
            *after = c;
            if (c != '-' && c != '.') return word;
            advance(lexer);
            if (!continues_name(lexer->lookahead)) return word;
            if (word.length < MAX_WORD - 1) word.text[word.length] = (char)c;
            word.length++;
            continue;
        }
        if (word.length < MAX_WORD - 1) word.text[word.length] = c < 0x80 ? (char)c : '?';
        word.length++;
        advance(lexer);
    }
}

static bool is_one_of(const Word *word, const char *const *words) {
    for (; *words; words++) {
        if (word->length == strlen(*words) && strcmp(word->text, *words) == 0) return true;
    }
    return false;
}

static bool equals(const Word *word, const char *text) {
    return word->length == strlen(text) && strcmp(word->text, text) == 0;
}

static const char *const DEFINITIONS[] = {
    "class", "extension", "scheme", "filter", "system", "protocol", "connector", "notification", NULL,
};
static const char *const TIMERS[] = {"after", "every", "onceEvery", "raw", NULL};
static const char *const VERBS[] = {"get", "put", "post", "merge", "delete", "list", NULL};

// Whether a mark of an assignment to a variable stands here.
static bool at_assignment(TSLexer *lexer) {
    int32_t c = lexer->lookahead;
    if (c == 0x2190 || c == 0x21e6) return true;
    if (c != ':' && c != '<') return false;
    advance(lexer);
    return c == ':' ? lexer->lookahead == '=' : lexer->lookahead == '-';
}

#endif
