function count(text) {
  const counts = new Map();
  for (const word of text.split(' ')) counts.set(word, (counts.get(word) ?? 0) + 1);
  return `${counts.size} ${counts.get('river')} ${counts.get('of')}`;
}
const text = Array.from({ length: 100000 }, (_, at) =>
  `the river of words number ${(at + 1) % 1000} flows over the old green stones and on of it w${at + 1}`).join(' ');
console.log(count(text));
