const over = (list) =>
  list.map((each) => each * 2).filter((each) => each > 1000).reduce((sum, each) => sum + each, 0);
const numbers = Array.from({ length: 1000000 }, (_, i) => i + 1);
let total = 0;
for (let i = 0; i < 5; i++) total += over(numbers);
console.log(total);
