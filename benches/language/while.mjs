function walk(limit) {
  let i = 0, a = 0, b = 0;
  while (i < limit) {
    if (i % 3 === 0) a++;
    else if (i % 5 === 0) b += 2;
    i++;
  }
  return a + b;
}
console.log(walk(30000000));
