// Pages without data: their HTML is complete.

listenToTheme();
performance.mark("site-ready");
