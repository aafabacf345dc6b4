// Runs before anything is drawn, so that a chosen theme does not flash up as the other one.
const theme = localStorage.getItem("theme");
if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
