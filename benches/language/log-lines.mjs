function make(n) {
  let out = '';
  for (let i = 1; i <= n; i++) out += `10.0.0.${i % 250} GET /page/${i % 1000} ${200 + (i % 5)} ${i}\n`;
  return out;
}
function count(text) {
  const counts = new Map();
  let bytes = 0;
  for (const line of text.split('\n')) {
    const parts = line.split(' ');
    if (parts.length > 4) {
      const status = parts[3];
      counts.set(status, (counts.get(status) ?? 0) + 1);
      bytes += parseInt(parts[4], 10);
    }
  }
  return `${counts.get('200')} ${counts.get('204')} ${bytes}`;
}
console.log(count(make(200000)));
