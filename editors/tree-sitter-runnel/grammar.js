/**
 * @file The grammar of Runnel for tree-sitter, after the parser in `crates/syntax`.
 *
 * Expressions from loose to tight: assignment and connection (to the right), cascades and pipes, keyword messages,
 * binary messages (to the left), unary messages with subscripts and `?`. What depends on characters further on is
 * decided in `src/scanner.c`: where a line ends a statement, which words begin a definition, where a path ends.
 * @license MIT
 */
/// <reference types="tree-sitter-cli/dsl" />
// @ts-check

const NAME = /[A-Za-z_\p{L}][A-Za-z0-9_\p{L}]*([.\-][A-Za-z0-9_\p{L}]+)*/;
const NUMBER = new RegExp(
  [
    '0[xXbB][A-Za-z0-9][A-Za-z0-9_]*',
    '[0-9]{1,2}r[A-Za-z0-9][A-Za-z0-9_]*',
    '[0-9](_?[0-9])*(\\.[0-9](_?[0-9])*)?([eE][+\\-]?[0-9](_?[0-9])*)?',
  ].join('|'),
);

/** Elements separated by commas; a comma may end the list. */
const some = (rule, separator = ',') => seq(rule, repeat(seq(separator, rule)), optional(separator));
const list = (rule) => optional(some(rule));

module.exports = grammar({
  name: 'runnel',

  word: ($) => $.identifier,

  // The same order as `enum TokenType` in src/scanner.c.
  externals: ($) => [
    $.comment,
    $._text_comment,
    $._text_comment_rest,
    $._end,
    $._line_end,
    $._string_content,
    $._quoted_content,
    $._interpolated_content,
    $._path_start,
    $._path_rest,
    $._path_brace,
    $._ref,
    $._ref_scheme,
    $._scheme,
    $._keyword_first,
    $._keyword_next,
    $._timer,
    $._definition_keyword,
    $._object,
    $._var,
    $._test,
    $._symbol,
    $._key_symbol,
    $._tag,
    $._signature,
    $.pattern,
    $.shell_command,
    $._error,
  ],

  extras: ($) => [/[\s\u0001-\u001f\u007f-\u00a0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000\ufeff]/, $.comment],

  supertypes: ($) => [$.expression],

  rules: {
    source_file: ($) =>
      seq(
        repeat(choice($._terminated, seq($.signature, $._line_end), seq($.shell_command, optional($._end)))),
        optional($._open_statement),
      ),

    // Statements.

    _statements: ($) => choice(seq(repeat1($._terminated), optional($._open_statement)), $._open_statement),
    _terminated: ($) =>
      choice(
        '.',
        $._comment_statement,
        $.class_definition,
        $.test_definition,
        $.temporaries,
        seq($._open_statement, choice('.', $._end)),
        seq(alias($._declaration, $.variable_declaration), $._line_end),
      ),
    _open_statement: ($) =>
      choice(
        $.expression,
        $.return_statement,
        $.template_definition,
        alias($._declaration, $.variable_declaration),
        alias($._declaration_with_value, $.variable_declaration),
      ),
    // A text in double quotes that is a statement, and that another statement follows.
    _comment_statement: ($) => alias($._comment_text, $.comment),
    _comment_text: ($) => seq($._text_comment, optional($._text_comment_rest)),

    return_statement: ($) => seq('^', $.expression),
    temporaries: ($) => seq('|', repeat(field('name', $.identifier)), '|'),
    _declaration: ($) =>
      seq(
        alias($._var, 'var'),
        optional(field('type', $.type)),
        field('name', $.identifier),
        repeat(seq(',', field('name', $.identifier))),
      ),
    _declaration_with_value: ($) => seq($._declaration, $._assign, field('value', $.expression)),
    test_definition: ($) => seq(alias($._test, 'test'), field('name', $.string), field('body', $.block)),
    template_definition: ($) =>
      seq(
        alias($._object, 'object'),
        field('name', $.identifier),
        ':',
        field('value', choice($.object_literal, $.array)),
      ),

    // Classes.

    class_definition: ($) =>
      seq(
        field('keyword', alias($._definition_keyword, $.definition_keyword)),
        field('name', $.identifier),
        optional(seq(':', field('superclass', $.identifier))),
        field('body', choice($.class_body, $.filter_body)),
      ),
    class_body: ($) => seq('{', repeat($._member), optional($._last_member), '}'),
    _last_member: ($) =>
      choice(
        alias($._declaration, $.variable_declaration),
        alias($._declaration_with_value, $.variable_declaration),
      ),
    _member: ($) =>
      choice(
        '.',
        $._comment_statement,
        seq(alias($._declaration, $.variable_declaration), choice('.', $._line_end)),
        seq(alias($._declaration_with_value, $.variable_declaration), choice('.', $._end)),
        $.method_definition,
        $.rule_definition,
        $.property_path,
        $.clause,
        $.request_parameter,
        $.filter_body,
      ),
    filter_body: ($) => seq('|{', optional($.block_parameters), optional($._statements), '}'),
    rule_definition: ($) =>
      choice(
        seq(
          'refuse',
          field('condition', $.block),
          'message:',
          field('message', $._primary),
          optional(seq('at:', field('field', $.symbol))),
        ),
        seq(
          'check:',
          field('field', $.symbol),
          field('condition', $.block),
          'message:',
          field('message', $._primary),
        ),
      ),
    method_definition: ($) =>
      seq(
        choice('-', '+'),
        optional(field('result', choice($.type, $.parenthesized_type))),
        $._selector,
        optional(field('body', $.block)),
      ),
    parenthesized_type: ($) => seq('(', $.identifier, ')'),
    signature: ($) => seq(alias($._signature, '#-'), optional(field('result', $.type)), $._selector),
    _selector: ($) =>
      choice(
        field('selector', $.identifier),
        seq(field('selector', alias($._selector_operator, $.operator)), field('parameter', $.parameter)),
        repeat1(seq(field('selector', alias($._keyword_first, $.keyword)), field('parameter', $.parameter))),
      ),
    parameter: ($) =>
      seq(
        optional(field('type', $.type)),
        field('name', $.identifier),
        optional(seq('=', field('default', $.default_value))),
      ),
    default_value: (_) => /'[^'\n]*'|[^\s']\S*/,

    // Property paths.

    property_path: ($) => seq(field('path', $.path_pattern), '{', repeat($._path_member), '}'),
    path_pattern: ($) =>
      seq(
        '/',
        optional($._segment),
        repeat(seq(token.immediate('/'), optional($._segment))),
        optional(
          seq(
            token.immediate('?'),
            alias($._query_parameter, $.path_parameter),
            repeat(seq(token.immediate('&'), alias($._query_parameter, $.path_parameter))),
          ),
        ),
      ),
    _segment: ($) => choice($.path_segment, $.path_parameter, $.path_wildcard),
    path_segment: (_) => token.immediate(/[^\s{\/?:*][^\s{\/?]*/),
    path_parameter: ($) => $._path_parameter,
    path_wildcard: ($) => seq(token.immediate('*'), optional(seq(token.immediate(':'), field('name', $.identifier)))),
    _path_parameter: ($) =>
      seq(token.immediate(':'), optional(field('type', $.type)), field('name', $.identifier)),
    _query_parameter: ($) =>
      seq(
        $._path_parameter,
        optional(seq(token.immediate('='), field('default', alias($._query_default, $.default_value)))),
      ),
    _query_default: (_) => token.immediate(/'[^'\n]*'|[^\s{&]+/),
    _path_member: ($) =>
      choice('.', $._comment_statement, $.handler, $.clause, $.request_parameter, $.property_path),
    handler: ($) =>
      seq(
        field('verb', $.verb),
        repeat(choice(field('mark', $.identifier), $.page_mark)),
        optional($.content_member),
        optional(field('content', $.type)),
        optional(seq('for:', field('allowed', $.block))),
        optional(seq($._arrow, $.answer, repeat(seq('|', $.answer)))),
        field('body', $.block),
      ),
    verb: (_) => choice('get', 'put', 'post', 'merge', 'delete', 'list', '|=', '=|', '+='),
    page_mark: ($) => choice('paged', seq('paged:', alias(/[0-9]+(\.\.[0-9]+)?/, $.number))),
    content_member: ($) => seq($.identifier, token.immediate(':')),
    answer: ($) =>
      seq(
        choice(
          seq(field('status', $.number), optional($.content_member), optional(field('type', $.type))),
          seq(optional($.content_member), field('type', $.type)),
        ),
        repeat(field('header', $.identifier)),
      ),
    clause: ($) =>
      seq(
        field('keyword', $.clause_keyword),
        optional(field('name', $.identifier)),
        optional('closed'),
        optional(seq($._arrow, field('answer', $.type))),
        field('body', $.block),
      ),
    clause_keyword: (_) => choice('guard', 'with', 'find', 'before', 'after', 'rescue'),
    request_parameter: ($) =>
      seq(
        field('place', $.parameter_place),
        field('type', $.type),
        field('name', $.identifier),
        optional(seq($._assign, field('default', choice($.number, $.string, $.identifier)))),
      ),
    parameter_place: (_) => choice('query', 'header', 'cookie'),

    // Types.

    type: ($) => seq('<', $._type, repeat(field('mark', $.identifier)), '>'),
    _type: ($) => seq($._single_type, repeat(seq('|', $._single_type))),
    _single_type: ($) =>
      choice(
        seq(
          field('name', alias($.identifier, $.type_identifier)),
          optional('?'),
          optional($.range),
          optional(alias($._type_pattern, $.pattern)),
          optional('?'),
        ),
        seq('[', $._type, ']', optional('?'), optional($.range), optional('?')),
        seq(repeat1(alias($._type_text, $.string)), optional('?')),
      ),
    range: ($) => {
      const bound = alias(/-?[0-9][0-9_]*(\.[0-9][0-9_]*)?/, $.number);
      return choice(seq(bound, '..', optional(bound)), seq('..', bound));
    },
    _type_text: (_) => /'([^'\\\n]|'')*'/,
    _type_pattern: (_) => /\/([^\/\\\n]|\\.)([^\/\\\n]|\\.)*\//,

    // Expressions.

    expression: ($) => choice($.assignment, $._connection),
    assignment: ($) =>
      seq(field('target', $._connection), field('operator', $._assign_any), field('value', $.expression)),
    _assign: (_) => choice(':=', '::=', '←', '⇦', '<-'),
    _assign_any: ($) => choice($._assign, '+=', '|=', '=|='),
    _connection: ($) => choice($.connection, $._messages),
    connection: ($) => seq(field('source', $._messages), $._arrow, field('target', $._connection)),
    _arrow: (_) => choice('→', '->', '⇨'),

    _messages: ($) => choice($._cascadable, $.cascade),
    _cascadable: ($) =>
      choice(
        $._binary,
        alias($._keyword_send, $.message_send),
        alias($._timer_send, $.message_send),
        $._piped,
        alias($._piped_keyword_send, $.message_send),
        alias($._pipe_keyword, $.pipe),
      ),
    cascade: ($) => seq(field('receiver', $._cascadable), repeat1(seq(';', field('message', $._message)))),
    _message: ($) => choice($.unary_message, $._any_binary_message, $.keyword_message),
    _any_binary_message: ($) => choice($.binary_message, alias($._comma_message, $.binary_message)),

    // Keyword messages.

    _keyword_send: ($) => seq(field('receiver', $._binary), field('message', $.keyword_message)),
    _timer_send: ($) => field('message', alias($._timer_message, $.keyword_message)),
    keyword_message: ($) => seq(alias($._keyword_first, $.keyword), $._keyword_arguments),
    _timer_message: ($) => seq(alias($._timer, $.keyword), $._keyword_arguments),
    _keyword_arguments: ($) =>
      seq(
        field('argument', $._binary),
        repeat(seq(alias($._keyword_next, $.keyword), field('argument', $._binary))),
      ),

    // Binary messages.

    _binary: ($) =>
      choice($._unary, alias($._binary_send, $.message_send), alias($._comma_send, $.message_send)),
    _binary_send: ($) => seq(field('receiver', $._binary), field('message', $.binary_message)),
    binary_message: ($) => seq($.operator, field('argument', $._unary)),
    // In a list a comma separates elements: the precedence lets the list win.
    _comma_send: ($) =>
      prec(-1, seq(field('receiver', $._binary), field('message', alias($._comma_message, $.binary_message)))),
    _comma_message: ($) => seq(alias(',', $.operator), field('argument', $._unary)),
    operator: ($) => choice($._operator, '-', '+', '=', '<', '>', '*', '/'),
    _operator: (_) => /[+*<>=&%~@!][+*\/<>=&%~@!]*|\/([+*<>=&%~@!][+*\/<>=&%~@!]*)?|[≤≥≠÷×·]/,
    // `<` begins a type there.
    _selector_operator: ($) => choice($._operator, '-', '+', '=', '>', '*', '/', ','),

    // Unary messages.

    _unary: ($) =>
      choice(
        $._primary,
        alias($._unary_send, $.message_send),
        $.subscript,
        $.next,
      ),
    _unary_send: ($) => seq(field('receiver', $._unary), field('message', $.unary_message)),
    unary_message: ($) => $.identifier,
    subscript: ($) => seq(field('receiver', $._unary), token.immediate('['), field('index', $.expression), ']'),
    next: ($) => seq(field('receiver', $._unary), '?'),

    // Pipes: the message, and the messages to its result.

    _piped: ($) =>
      choice(
        $._piped_unary,
        alias($._pipe_binary, $.pipe),
        alias($._piped_binary_send, $.message_send),
        alias($._piped_comma_send, $.message_send),
      ),
    _piped_unary: ($) =>
      choice(
        alias($._pipe_unary, $.pipe),
        alias($._piped_unary_send, $.message_send),
        alias($._piped_subscript, $.subscript),
        alias($._piped_next, $.next),
      ),
    _pipe_unary: ($) => seq(field('receiver', $._messages), '|', field('message', $.unary_message)),
    _pipe_binary: ($) => seq(field('receiver', $._messages), '|', field('message', $._any_binary_message)),
    _pipe_keyword: ($) => seq(field('receiver', $._messages), '|', field('message', $.keyword_message)),
    _piped_unary_send: ($) => seq(field('receiver', $._piped_unary), field('message', $.unary_message)),
    _piped_subscript: ($) =>
      seq(field('receiver', $._piped_unary), token.immediate('['), field('index', $.expression), ']'),
    _piped_next: ($) => seq(field('receiver', $._piped_unary), '?'),
    _piped_binary_send: ($) => seq(field('receiver', $._piped), field('message', $.binary_message)),
    _piped_comma_send: ($) =>
      prec(-1, seq(field('receiver', $._piped), field('message', alias($._comma_message, $.binary_message)))),
    _piped_keyword_send: ($) => seq(field('receiver', $._piped), field('message', $.keyword_message)),

    // Operands.

    _primary: ($) =>
      choice(
        $.identifier,
        $.implicit_parameter,
        $.reference,
        $.reference_literal,
        $.number,
        $.string,
        $.interpolated_string,
        $.symbol,
        $.pattern,
        $.parenthesized_expression,
        $.array,
        $.dictionary,
        $.object_literal,
        $.block,
      ),
    identifier: (_) => NAME,
    implicit_parameter: (_) => /\$[A-Za-z0-9_]+/,
    number: ($) => choice($._digits, seq('-', token.immediate(NUMBER))),
    _digits: (_) => NUMBER,
    symbol: ($) => choice($._symbol, seq('#', alias($._immediate_string, $.string))),
    parenthesized_expression: ($) => seq('(', $.expression, ')'),

    string: ($) =>
      choice(
        seq("'", $._string_rest),
        seq(
          choice('‘', '’'),
          repeat(choice(alias($._quoted_content, $.string_content), $.escape_sequence)),
          choice(token.immediate('‘'), token.immediate('’')),
        ),
      ),
    _immediate_string: ($) => seq(token.immediate("'"), $._string_rest),
    _string_rest: ($) =>
      seq(
        repeat(
          choice(
            alias($._string_content, $.string_content),
            $.escape_sequence,
            alias(token.immediate("''"), $.escape_sequence),
          ),
        ),
        token.immediate("'"),
      ),
    interpolated_string: ($) =>
      seq(
        '"',
        repeat(choice(alias($._interpolated_content, $.string_content), $.escape_sequence, $.interpolation)),
        token.immediate('"'),
      ),
    escape_sequence: (_) => token.immediate(/\\(u\{[0-9a-fA-F]{1,6}\}|[^u]|u)/),
    interpolation: ($) => seq(token.immediate('{'), $.expression, '}'),

    reference: ($) => seq(field('scheme', alias($._scheme, $.scheme)), optional(field('path', $.path))),
    reference_literal: ($) =>
      seq(
        alias($._ref, 'ref:'),
        choice(
          seq(field('scheme', alias($._ref_scheme, $.scheme)), optional(field('path', $.path))),
          field('path', $.path),
        ),
      ),
    path: ($) =>
      seq(
        choice(alias($._path_start, $.path_text), alias($._path_interpolation, $.interpolation)),
        repeat(choice(alias($._path_rest, $.path_text), alias($._path_interpolation, $.interpolation))),
      ),
    _path_interpolation: ($) => seq(alias($._path_brace, '{'), optional('*'), $.expression, '}'),

    array: ($) =>
      choice(
        seq('[', list($.expression), ']'),
        seq('#', token.immediate('['), list($.expression), ']'),
        // Numbers and texts need no comma before them, as in Smalltalk.
        seq(
          '#',
          token.immediate('('),
          optional(seq(
            $.expression,
            repeat(choice(seq(',', $.expression), alias($._digits, $.number), $.string)),
            optional(','),
          )),
          ')',
        ),
        seq(field('class', alias($._tag, $.tag)), '(', list($.expression), ')'),
      ),
    dictionary: ($) => seq('#', token.immediate('{'), optional($._pairs), '}'),
    object_literal: ($) =>
      prec.right(
        seq(
          field('class', alias($._tag, $.tag)),
          choice(seq($.attributes, optional($.children)), $.children),
        ),
      ),
    attributes: ($) => seq('{', optional($._pairs), '}'),
    children: ($) => seq(token.immediate('['), list($.expression), ']'),
    _pairs: ($) => some($.pair, choice(',', '.')),
    pair: ($) => seq(field('key', $._key), ':', field('value', $.expression)),
    _key: ($) =>
      choice(
        alias($.identifier, $.key),
        alias($._key_symbol, $.key),
        seq('#', alias($._immediate_string, $.string)),
        $.string,
        $.interpolated_string,
        $.number,
        $.implicit_parameter,
        $.pattern,
        $.parenthesized_expression,
      ),

    // Blocks.

    block: ($) => seq('{', optional($.block_parameters), optional($._statements), '}'),
    block_parameters: ($) => prec.right(seq(repeat1(seq(':', $._block_parameter)), optional('|'))),
    _block_parameter: ($) => seq(optional(field('type', $.type)), field('name', $.identifier)),
  },
});
