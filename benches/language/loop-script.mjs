let sum = 0;
for (let i = 1; i <= 50000000; i++) sum += i % 7;
console.log(sum);
