-- Markdown: a text as HTML, and the headings in it.
local K = ...
local native = K.native

-- The element that holds markup.
local function element(markup) return K.markup(markup) end

K.methods(K.classes.String, {
  --- String -<Element> parseMarkdown
  --- Markdown (CommonMark 0.31, with tables, strikethrough and task lists) as an element for a page. HTML in the text is
  --- shown as it is written, a link has the scheme http, https, mailto or tel or none, and headings have anchors as on
  --- GitHub. The words of code blocks marked `runnel` stand in spans with classes. At most 4 MiB and 128 levels.
  --- > '# Hi *there*' parseMarkdown stringValue ⇒ '<h1 id="hi-there">Hi <em>there</em></h1>\n'
  --- > '<b>x</b>' parseMarkdown stringValue ⇒ '<p>&lt;b&gt;x&lt;/b&gt;</p>\n'
  ["parseMarkdown"] = function(text) return element(native.markdown(text, false)) end,
  --- String -<Element> parseMarkdownWithHTML
  --- The same, with the HTML of the text as it is: only for texts of the program's own authors, since a script in it runs.
  --- > '<b>x</b>' parseMarkdownWithHTML stringValue ⇒ '<p><b>x</b></p>\n'
  ["parseMarkdownWithHTML"] = function(text) return element(native.markdown(text, true)) end,
  --- String -<Array> markdownHeadings
  --- The headings of a Markdown text in order, each a dictionary with `level` (1 to 6), `anchor` and `text`.
  --- > '## Set-up' markdownHeadings first ⇒ #{ level: 2, anchor: 'set-up', text: 'Set-up' }
  ["markdownHeadings"] = function(text)
    local list = native.markdownHeadings(text)
    local found = {}
    for i = 1, #list do
      local one = list[i]
      found[i] = K.recordOf { "level", one[1], "anchor", one[2], "text", one[3] }
    end
    return K.array(found, #found)
  end,
})
