function below(limit) {
  const flags = Array.from({ length: limit }, () => true);
  let count = 0;
  for (let i = 2; i < limit; i++) {
    if (flags[i]) {
      count++;
      for (let k = i * i; k < limit; k += i) flags[k] = false;
    }
  }
  return count;
}
console.log(below(5000000));
