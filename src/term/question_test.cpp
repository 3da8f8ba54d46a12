#include "term/question.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/text.h"

// Screens of real programs, as they are while the program waits (RUN-10).
namespace reeve::term {
namespace {

struct Expected {
  std::string question;
  // "value=label", followed by + if it approves.
  std::string choices;
  std::string default_value;
  bool looks_like_question = true;
};

std::string spell(const std::vector<Choice>& choices) {
  std::vector<std::string> words;
  for (const Choice& choice : choices) {
    words.push_back(choice.value + "=" + choice.label + (choice.approves ? "+" : ""));
  }
  return base::join(words, " ");
}

void expect_question(const std::string& output, const Expected& expected, bool is_secret = false) {
  const ScreenQuestion found = read_question(output, 24, 80, is_secret);
  EXPECT_EQ(found.question, expected.question) << output;
  EXPECT_EQ(spell(found.choices), expected.choices) << output;
  EXPECT_EQ(found.default_value.value_or(""), expected.default_value) << output;
  EXPECT_EQ(found.looks_like_question, expected.looks_like_question) << output;
  EXPECT_EQ(found.is_free_text, found.choices.empty()) << output;
}

struct Case {
  std::string output;
  Expected expected;
};

TEST(ScreenQuestion, yes_no_prompts_yield_two_choices) {
  const std::vector<Case> cases = {
      // bash: read -p
      {"Go on? [y/N] ", {"Go on? [y/N]", "y=yes+ n=no", "n"}},
      {"Proceed ([y]/n)? ", {"Proceed ([y]/n)?", "y=yes+ n=no", "y"}},
      {"Continue (y/n)? ", {"Continue (y/n)?", "y=yes+ n=no", ""}},
      {"Continue? y/n ", {"Continue? y/n", "y=yes+ n=no", "", true}},
      {"Delete it (yes/no): ", {"Delete it (yes/no):", "yes=yes+ no=no", ""}},
      {"Are you sure? (y or n) ", {"Are you sure? (y or n)", "y=yes+ n=no", ""}},
      {"Save? (Y)es/(N)o ", {"Save? (Y)es/(N)o", "y=Yes+ n=No", ""}},
      {"[A]bort, [R]etry, [I]gnore? ", {"[A]bort, [R]etry, [I]gnore?", "a=Abort r=Retry i=Ignore", ""}},
      // apt-get install
      {"Reading package lists... Done\r\nThe following NEW packages will be installed:\r\n  nano\r\n"
       "0 upgraded, 1 newly installed, 0 to remove and 3 not upgraded.\r\n"
       "After this operation, 2,871 kB of additional disk space will be used.\r\nDo you want to continue? [Y/n] ",
       {"Do you want to continue? [Y/n]", "y=yes+ n=no", "y"}},
      // ssh to an unknown host
      {"The authenticity of host '[127.0.0.1]:2222 ([127.0.0.1]:2222)' can't be established.\r\n"
       "ED25519 key fingerprint is SHA256:abc.\r\nThis key is not known by any other names.\r\n"
       "Are you sure you want to continue connecting (yes/no/[fingerprint])? ",
       {"Are you sure you want to continue connecting (yes/no/[fingerprint])?", "yes=yes+ no=no", ""}},
      // ssh-keygen
      {"Generating public/private ed25519 key pair.\r\nEnter file in which to save the key (/root/.ssh/id_ed25519): "
       "\r\n"
       "/root/.ssh/id_ed25519 already exists.\r\nOverwrite (y/n)? ",
       {"Overwrite (y/n)?", "y=yes+ n=no", ""}},
      // git add -p
      {"@@ -1 +1 @@\r\n-a\r\n+b\r\n\x1b[1;34m(1/1) Stage this hunk [y,n,q,a,d,e,?]? \x1b[m",
       {"(1/1) Stage this hunk [y,n,q,a,d,e,?]?", "y=yes+ n=no q=q a=a d=d e=e", ""}},
      // git add -p with two hunks: the first one, then the second one. The keys `/` and `?` are no answers.
      {"(1/2) Stage this hunk [y,n,q,a,d,j,J,g,/,e,?]? ",
       {"(1/2) Stage this hunk [y,n,q,a,d,j,J,g,/,e,?]?", "y=yes+ n=no q=q a=a d=d j=j J=J g=g e=e", ""}},
      {"(2/2) Stage this hunk [y,n,q,a,d,K,g,/,e,?]? ",
       {"(2/2) Stage this hunk [y,n,q,a,d,K,g,/,e,?]?", "y=yes+ n=no q=q a=a d=d K=K g=g e=e", ""}},
      {"(1/2) Stage this hunk [y,n,q,a,d,j,J,g,/,s,e,?]? ",
       {"(1/2) Stage this hunk [y,n,q,a,d,j,J,g,/,s,e,?]?", "y=yes+ n=no q=q a=a d=d j=j J=J g=g s=s e=e", ""}},
      // dpkg and a changed configuration file
      {"*** motd (Y/I/N/O/D/Z) [default=N] ? ",
       {"*** motd (Y/I/N/O/D/Z) [default=N] ?", "Y=yes+ I=I N=no O=O D=D Z=Z", "N"}},
      // npm init, last question
      {"About to write it:\r\n\r\n\r\nIs this OK? (yes) ", {"Is this OK? (yes)", "yes=yes+ no=no", "yes"}},
      // npx, before it installs a package
      {"Need to install the following packages:\r\n  cowsay@1.6.0\r\nOk to proceed? (y) ",
       {"Ok to proceed? (y)", "y=yes+ n=no", "y"}},
      // A line that is wider than the screen.
      {std::string(75, '-') + "x [yes/no] ", {std::string(75, '-') + "x [yes/no]", "yes=yes+ no=no", ""}},
      // The question is a complete line, and the input is read on the next one.
      {"Overwrite the file? [y/N]\r\n", {"Overwrite the file? [y/N]", "y=yes+ n=no", "n"}},
  };
  for (const Case& each : cases) expect_question(each.output, each.expected);
}

TEST(ScreenQuestion, free_text_prompts_yield_their_default) {
  const std::vector<Case> cases = {
      {"rm: remove regular file 'x'? ", {"rm: remove regular file 'x'?", "y=yes+ n=no", "n"}},
      {"/bin/cp: overwrite 'x'? ", {"/bin/cp: overwrite 'x'?", "y=yes+ n=no", "n"}},
      {"What is your name? ", {"What is your name?", "", ""}},
      {"package name: (app) ", {"package name: (app)", "", "app"}},
      {"version: (1.0.0) ", {"version: (1.0.0)", "", "1.0.0"}},
      {"Country Name (2 letter code) [AU]:", {"Country Name (2 letter code) [AU]:", "", "AU"}},
      {"Port [default: 8080]: ", {"Port [default: 8080]:", "", "8080"}},
      {"Description (optional): ", {"Description (optional):", "", ""}},
      {"Number (1-5): ", {"Number (1-5):", "", ""}},
      {"Welcome to Node.js v18.\r\nType \".help\" for more information.\r\n> ",
       {"Type \".help\" for more information.\n>", "", ""}},
      // npm init
      {"Press ^C at any time to quit.\r\npackage name: (app) \r\nversion: (1.0.0) ", {"version: (1.0.0)", "", "1.0.0"}},
      // ssh-keygen
      {"Generating public/private ed25519 key pair.\r\nEnter file in which to save the key (/root/.ssh/id_ed25519): ",
       {"Enter file in which to save the key (/root/.ssh/id_ed25519):", "", "/root/.ssh/id_ed25519"}},
      {"First\r\n\r\nWhich file?\r\n", {"Which file?", "", ""}},
      {"Compare src/main.cpp (src/main.cpp): ", {"Compare src/main.cpp (src/main.cpp):", "", "src/main.cpp"}},
  };
  for (const Case& each : cases) expect_question(each.output, each.expected);
}

TEST(ScreenQuestion, password_prompt_is_one_line) {
  const std::vector<Case> cases = {
      {"Reading\r\n[sudo] password for ann: ", {"[sudo] password for ann:", "", ""}},
      {"Password: ", {"Password:", "", ""}},
      {"Enter passphrase for key '/k' (empty for none): ", {"Enter passphrase for key '/k' (empty for none):", "", ""}},
      {"Token [y/n]: ***", {"Token [y/n]:", "", "", false}},
      {"Enter PIN:\r\n", {"Enter PIN:", "", ""}},
  };
  for (const Case& each : cases) expect_question(each.output, each.expected, true);
}

TEST(ScreenQuestion, menus_yield_their_choices) {
  const std::vector<Case> cases = {
      {"Choose a fruit:\r\n1) apple\r\n2) pear\r\n#? ", {"Choose a fruit:\n#?", "1=apple 2=pear", ""}},
      {"1) one    3) three\r\n2) two\r\n#? ", {"#?", "1=one 2=two 3=three", ""}},
      {"Pick:\r\n  [1] Use it\r\n  [2] Leave it\r\nChoice [1]: ", {"Pick:\nChoice [1]:", "1=Use it 2=Leave it", "1"}},
      {"What now?\r\n  a) apply\r\n  b) drop\r\n", {"What now?", "a=apply b=drop", ""}},
      // An agent's box; the cursor is below it.
      {"╭──────────────────────────────────────╮\r\n"
       "│ Bash command                         │\r\n"
       "│                                      │\r\n"
       "│   rm -rf build                       │\r\n"
       "│                                      │\r\n"
       "│ Do you want to proceed?              │\r\n"
       "│ ❯ 1. Yes                             │\r\n"
       "│   2. Yes, and don't ask again        │\r\n"
       "│   3. No, and tell it what to do (esc)│\r\n"
       "╰──────────────────────────────────────╯\r\n",
       {"Do you want to proceed?", "1=Yes+ 2=Yes, and don't ask again+ 3=No, and tell it what to do (esc)", "1"}},
      // Without a box, the cursor on the question.
      {"\r\nDo you trust this folder?\r\n\r\n\x1b[36m❯ 1. Yes, proceed\x1b[39m\r\n  2. No, exit\r\n\r\n"
       "Enter to confirm · Esc to exit\r\n",
       {"Do you trust this folder?", "1=Yes, proceed+ 2=No, exit", "1"}},
      {"Which?\r\n> 1. red\r\n  2. blue\x1b[2A\x1b[7G", {"Which?", "1=red 2=blue", "1"}},
  };
  for (const Case& each : cases) expect_question(each.output, each.expected);
}

// RUN-10: the prompt's own line is the question, as on the screens of real agents.
TEST(ScreenQuestion, dialogs_of_agents_yield_the_line_that_asks) {
  const std::vector<Case> cases = {
      // Claude Code: command, rule, question, options; the cursor is on the first option.
      {"\x1b[H● I will run it.\r\n\r\n────────────────────────────────────────\r\n Bash command\r\n"
       "╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌\r\n rm -rf build\r\n╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌\r\n Do you want to proceed?\r\n"
       " ❯ 1. Yes\r\n   2. Yes, and always allow access to /home/ana/work from this project\r\n   3. No\r\n\r\n"
       " Esc to cancel · Tab to amend\x1b[9;2H",
       {"Do you want to proceed?", "1=Yes+ 2=Yes, and always allow access to /home/ana/work from this project+ 3=No",
        "1"}},
      // The same with blank lines between.
      {"Bash command\r\n\r\n  rm -rf build\r\n\r\nDo you want to proceed?\r\n\r\n❯ 1. Yes\r\n  2. No\r\n",
       {"Do you want to proceed?", "1=Yes+ 2=No", "1"}},
      // Codex: the question is above its details, and a detail written by the agent asks too.
      {"• Running echo hi > x.txt\r\n\r\n\r\n  Would you like to run the following command?\r\n\r\n  Environment: "
       "local\r\n"
       "\r\n  Reason: May I run this outside the sandbox?\r\n\r\n  $ echo hi > x.txt\r\n\r\n\r\n› 1. Yes, proceed "
       "(y)\r\n"
       "  2. No, and tell Codex what to do differently (esc)\r\n\r\n  Press enter to confirm or esc to cancel",
       {"Would you like to run the following command?",
        "1=Yes, proceed (y)+ 2=No, and tell Codex what to do differently (esc)", "1"}},
      // Gemini: a remark between question and options.
      {"╭──────────────────────────────────────────────────────╮\r\n"
       "│ ? Shell  echo hi > x.txt                             │\r\n"
       "│ Allow execution of [Shell]?                          │\r\n"
       "│ Redirection detected. To auto-accept, press Shift+Tab│\r\n"
       "│                                                      │\r\n"
       "│ ● 1. Allow once                                      │\r\n"
       "│   2. No, suggest changes (esc)                       │\r\n"
       "╰──────────────────────────────────────────────────────╯\r\n",
       {"Allow execution of [Shell]?", "1=Allow once+ 2=No, suggest changes (esc)", "1"}},
      // Qwen
      {"  ? Shell echo hi > x.txt (scripted command) ←\r\n\r\n     echo hi > x.txt\r\n\r\n   Allow execution of: "
       "'echo'?\r\n"
       "\r\n   › 1. Yes, allow once\r\n     2. No, suggest changes (esc)\r\n\r\n\r\n  Waiting for user "
       "confirmation...\r\n",
       {"Allow execution of: 'echo'?", "1=Yes, allow once+ 2=No, suggest changes (esc)", "1"}},
      // A question that the program wrapped.
      {"Do you want to make this edit to src/components/navigation/sidebar_controller\r\nand to its test?\r\n"
       "❯ 1. Yes\r\n  2. No\r\n",
       {"Do you want to make this edit to src/components/navigation/sidebar_controller and to its test?", "1=Yes+ 2=No",
        "1"}},
  };
  for (const Case& each : cases) expect_question(each.output, each.expected);
}

// RUN-10: the screen beside the question is complete, with the place of the prompt in it.
TEST(ScreenQuestion, screen_is_kept_with_the_place_of_the_prompt) {
  const std::string wide(100, 'x');
  const ScreenQuestion found = read_question(
      "│ Bash command │\r\n" + wide + "\r\n\r\nDo you want to proceed?\r\n❯ 1. Yes\r\n  2. No\r\n", 24, 80, false);
  ASSERT_GE(found.lines.size(), 6U);
  EXPECT_EQ(found.lines[0], "│ Bash command │");
  EXPECT_EQ(found.lines[1], wide) << "wrapped by the terminal, one line again";
  EXPECT_EQ(found.prompt_line, 3U);
  EXPECT_EQ(found.lines[5], "  2. No");
  EXPECT_EQ(strip_box(found.lines[0]), "Bash command");
  EXPECT_EQ(read_question("Reading\r\nPassword: ", 24, 80, true).prompt_line, 1U);
}

// RUN-10: at a small terminal most of what a person should read has scrolled off.
TEST(ScreenQuestion, lines_that_scrolled_off_come_before_the_screen) {
  std::string output;
  for (int i = 1; i <= 60; ++i) output += "line " + std::to_string(i) + "\r\n";
  for (const int rows : {10, 24, 50}) {
    const ScreenQuestion found = read_question(output + "Go? [y/N] ", rows, 80, false);
    EXPECT_EQ(found.question, "Go? [y/N]");
    EXPECT_EQ(found.lines[found.prompt_line], "Go? [y/N]");
    ASSERT_GE(found.prompt_line, 39U);
    EXPECT_EQ(found.lines[found.prompt_line - 39], "line 22");
  }
  const std::string wide(100, 'x');
  const ScreenQuestion wrapped = read_question(wide + "\r\n\r\nGo? [y/N] ", 3, 80, false);
  ASSERT_EQ(wrapped.lines.size(), 3U);
  EXPECT_EQ(wrapped.lines[0], wide) << "one line, of which a half has scrolled off";
  EXPECT_FALSE(read_question("Go? [y/N]" + std::string(30, '\n'), 24, 80, false).looks_like_question)
      << "it is not on the screen";
}

TEST(ScreenQuestion, ordinary_output_is_not_a_question) {
  for (const std::string& output :
       std::vector<std::string>{"", "\r\n\r\n", "Compiling...", "⠋ Installing packages", "Downloading 45%",
                                "[=====>     ]", "Building (3/10)", "Done.\r\n", "1. Compiled a\r\n2. Compiled b\r\n",
                                "[3/10] Building\r\n", "Files:\r\n", "####"}) {
    EXPECT_FALSE(read_question(output, 24, 80, false).looks_like_question) << output;
  }
  for (const std::string& output :
       std::vector<std::string>{"line\r\nline\r\n:", "line\r\n\x1b[7m(END)\x1b[27m", "$ ", "ann@host:~# ", ">>> "}) {
    EXPECT_TRUE(read_question(output, 24, 80, false).looks_like_question) << output;
  }
}

TEST(ScreenQuestion, question_length_is_bounded) {
  std::string output;
  for (int i = 0; i < 100'000; ++i) output += "line " + std::to_string(i) + "\r\n";
  const ScreenQuestion found = read_question(output + "Go? [y/N] ", 24, 80, false);
  EXPECT_EQ(found.question, "Go? [y/N]");
  EXPECT_LE(found.lines.size(), 24U + Screen::max_scrolled);
  const ScreenQuestion deep = read_question(std::string(100'000, '[') + "y/n]", 24, 80, false);
  EXPECT_LE(deep.question.size(), 4'096U);
}

}  // namespace
}  // namespace reeve::term
