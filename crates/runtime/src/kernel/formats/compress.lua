-- Compression of texts and bytes: gzip and Zstandard.
local K = ...
local type, throw, native = type, K.throw, K.native

-- What a decompressed result has at most unless a message says otherwise, in bytes.
local MOST = 67108864 -- 64 MiB

local function bytes(value, selector)
  if type(value) == "string" then return value end
  return K.bytesOf(value, selector)
end

local function compressed(coding, selector)
  return function(self) return K.data(native.compress(bytes(self, selector), coding)) end
end
local function decompressed(coding, selector)
  return function(self, most)
    if most ~= nil then most = K.expectSize(most, selector) end
    return K.data(native.decompress(bytes(self, selector), coding, most or MOST))
  end
end

local messages = {
  --- String -<Data> gzipped
  --- Data -<Data> gzipped
  --- Answers the bytes compressed with gzip (RFC 1952).
  --- > ('hello' repeated: 100) gzipped gunzipped asString count ⇒ 500
  ["gzipped"] = compressed("gzip", "gzipped"),
  --- Data -<Data> gunzipped
  --- Answers what gzip compressed, at most 64 MiB. Other bytes are an `invalid` error, more a `tooLarge` error.
  --- > 'hello' gzipped gunzipped asString ⇒ 'hello'
  ["gunzipped"] = decompressed("gzip", "gunzipped"),
  --- Data -<Data> gunzippedAtMost:<ByteSize|String>size
  --- Answers what gzip compressed, at most this many bytes; more is a `tooLarge` error.
  --- > 'hello' gzipped gunzippedAtMost: 3 bytes ⇒ error: the decompressed data is larger than 3 bytes
  ["gunzippedAtMost:"] = decompressed("gzip", "gunzippedAtMost:"),
  --- String -<Data> zstdCompressed
  --- Data -<Data> zstdCompressed
  --- Answers the bytes compressed with Zstandard (RFC 8878), which is faster and smaller than gzip.
  --- > 'hello' zstdCompressed zstdDecompressed asString ⇒ 'hello'
  ["zstdCompressed"] = compressed("zstd", "zstdCompressed"),
  --- Data -<Data> zstdDecompressed
  --- Answers what Zstandard compressed, at most 64 MiB. Other bytes are an `invalid` error, more a `tooLarge` error.
  --- > 'hello' asData zstdDecompressed ⇒ error: the data is not valid zstd
  ["zstdDecompressed"] = decompressed("zstd", "zstdDecompressed"),
  --- Data -<Data> zstdDecompressedAtMost:<ByteSize|String>size
  --- Answers what Zstandard compressed, at most this many bytes; more is a `tooLarge` error.
  --- > 'hi' zstdCompressed zstdDecompressedAtMost: 2 bytes | asString ⇒ 'hi'
  ["zstdDecompressedAtMost:"] = decompressed("zstd", "zstdDecompressedAtMost:"),
}
K.methods(K.classes.Data, messages)
K.methods(K.classes.String, { ["gzipped"] = messages.gzipped, ["zstdCompressed"] = messages.zstdCompressed })
