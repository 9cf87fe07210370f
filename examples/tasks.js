// The page of tasks.st: shows the tasks, adds, ticks off and removes them.
const list = document.getElementById('tasks');
const api = (method, path, body) =>
  fetch(path, { method, body: body && JSON.stringify(body),
    headers: { 'content-type': 'application/json' } });

function row(task) {
  const item = document.createElement('li');
  item.className = task.done ? 'done' : '';
  const tick = Object.assign(document.createElement('input'), { type: 'checkbox', checked: task.done });
  tick.setAttribute('aria-label', 'done');
  tick.onchange = () => api('PATCH', `/tasks/${task.id}`, { done: tick.checked }).then(show);
  const remove = Object.assign(document.createElement('button'), { textContent: 'Remove' });
  remove.onclick = () => api('DELETE', `/tasks/${task.id}`).then(show);
  item.append(tick, ' ', task.title, ' ', remove);
  return item;
}

async function show() {
  const tasks = await (await fetch('/tasks')).json();
  list.replaceChildren(...tasks.map(row));
  document.getElementById('open').textContent = tasks.filter((task) => !task.done).length;
}

document.getElementById('new').onsubmit = async (event) => {
  event.preventDefault();
  await api('POST', '/tasks', { title: event.target.title.value, done: false });
  event.target.reset();
  show();
};

show();
