// The table of several frameworks: nothing on it moves but its theme.

listenToTheme();
