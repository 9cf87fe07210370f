function count(text) {
  let words = 0, numbers = 0, others = 0, at = 0;
  const size = text.length;
  while (at < size) {
    const c = text[at];
    if (c >= 'a' && c <= 'z') {
      words++;
      while (at < size && text[at] >= 'a' && text[at] <= 'z') at++;
    } else if (c >= '0' && c <= '9') {
      numbers++;
      while (at < size && text[at] >= '0' && text[at] <= '9') at++;
    } else {
      if (c !== ' ') others++;
      at++;
    }
  }
  return `${words} ${numbers} ${others}`;
}
console.log(count('alpha := beta * 120 + (gamma - 7) / delta; '.repeat(25000)));
