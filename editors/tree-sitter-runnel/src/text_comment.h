// A text in double quotes that is a statement is a comment where another statement follows it.

#ifndef RUNNEL_TEXT_COMMENT_H
#define RUNNEL_TEXT_COMMENT_H

#include "reading.h"

// The longest text used as a comment, with what is read behind it, in characters.
#define MAX_COMMENT 4096
// How deep quotes and braces may be nested in a text that is a comment.
#define MAX_NESTING 64

// A text in double quotes with what is behind it, read as far as it is asked for.
typedef struct {
    TSLexer *lexer;
    int32_t text[MAX_COMMENT];
    uint32_t length;
    // Where the text ends at its first quote, 0 as long as it was not found.
    uint32_t simple;
} Buffer;

static int32_t at(Buffer *buffer, uint32_t place) {
    while (buffer->length <= place) {
        if (buffer->length >= MAX_COMMENT || buffer->lexer->eof(buffer->lexer)) return 0;
        int32_t c = buffer->lexer->lookahead;
        buffer->text[buffer->length++] = c;
        advance(buffer->lexer);
        if (c == '"' && buffer->length > 1 && buffer->simple == 0) {
            buffer->simple = buffer->length;
            buffer->lexer->mark_end(buffer->lexer);
        }
    }
    return buffer->text[place];
}

// The end of a text in single quotes, 0 where it has none.
static uint32_t string_end(Buffer *buffer, uint32_t from) {
    for (uint32_t i = from + 1; at(buffer, i); i++) {
        if (at(buffer, i) == '\\') i++;
        else if (at(buffer, i) == '\'' && at(buffer, i + 1) == '\'') i++;
        else if (at(buffer, i) == '\'') return i + 1;
    }
    return 0;
}

// The end of a text in double quotes whose braces may hold texts, 0 where it has none.
static uint32_t nested_end(Buffer *buffer) {
    char open[MAX_NESTING] = {'"'};
    unsigned depth = 1;
    for (uint32_t i = 1; at(buffer, i); i++) {
        int32_t c = at(buffer, i);
        char inner = open[depth - 1];
        if (inner == '"' && c == '\\') i++;
        else if (inner == '"' && c == '"') {
            if (--depth == 0) return i + 1;
        } else if (c == '{' || (inner == '{' && c == '"')) {
            if (depth == MAX_NESTING) return 0;
            open[depth++] = (char)c;
        } else if (inner == '{' && c == '}') {
            depth--;
        } else if (inner == '{' && c == '\'') {
            uint32_t end = string_end(buffer, i);
            if (end == 0) return 0;
            i = end - 1;
        }
    }
    return 0;
}

// The next place behind white space and comments.
static uint32_t skip_gap(Buffer *buffer, uint32_t from, bool *newline) {
    for (uint32_t i = from;; i++) {
        int32_t c = at(buffer, i);
        bool first = i > 0 && at(buffer, i - 1) == '\n';
        int32_t next = at(buffer, i + 1);
        if ((c == '/' && next == '/') || (c == '#' && first && (is_space(next) || next == '#' || next == '!'))) {
            while (at(buffer, i) && at(buffer, i) != '\n') i++;
            c = at(buffer, i);
        }
        if (!is_space(c)) return i;
        *newline |= c == '\n';
    }
}

static bool closes(int32_t c) { return c == ')' || c == ']' || c == '}'; }

// Whether a statement can end at the place, and another one follows.
static bool is_comment_end(Buffer *buffer, uint32_t end) {
    bool newline = false;
    uint32_t next = skip_gap(buffer, end, &newline);
    int32_t c = at(buffer, next);
    if (c != '.' && !closes(c) && c != 0) {
        if (!newline || (c < 0x80 && strchr("+*/<>=&%~@!-,|;?", (int)c) != NULL)) return false;
        // A line that begins with a keyword continues the statement.
        uint32_t word = next;
        while (continues_name(at(buffer, word)) || at(buffer, word) == '-') word++;
        if (word > next && at(buffer, word) == ':' && is_space(at(buffer, word + 1))) return false;
    }
    while (at(buffer, next) == '.') next = skip_gap(buffer, next + 1, &newline);
    return at(buffer, next) != 0 && !closes(at(buffer, next));
}

#endif
