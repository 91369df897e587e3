<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="ko_KR">
<context>
    <name>Actions</name>
    <message>
        <source>From File…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Edit…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Pin</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Unpin</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Choose Policy…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Warm Now</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Versions…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Copy Text</source>
        <translation type="unfinished">텍스트 복사</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Restore</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>Application</name>
    <message>
        <source>Ondol did not end properly last time</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>What was saved is there. The log may say why.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Open Log Folder</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The engine stopped working</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Requests that were running got an error. Ondol is trying to bring it back.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Ondol is back</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Requests are answered again.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Ondol cannot start</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Quit Ondol</source>
        <translation type="unfinished">온돌 종료</translation>
    </message>
    <message>
        <source>Open Data Folder</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>If you quit now, they end with an error.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Quit</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>If you restart now, they end with an error.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Restart</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>A request is still running</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{number} requests are still running</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>Chart</name>
    <message>
        <source>Nothing yet</source>
        <translation>아직 없음</translation>
    </message>
    <message>
        <source>{series}: {value}</source>
        <translation>{series}: {value}</translation>
    </message>
    <message>
        <source>{series}: latest {latest}, lowest {lowest}, highest {highest}.</source>
        <translation>{series}: 최근 {latest}, 최저 {lowest}, 최고 {highest}.</translation>
    </message>
</context>
<context>
    <name>CodeBlock</name>
    <message>
        <source>Code for {name}</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>Commands</name>
    <message>
        <source>“{name}” was not pinned. {reason}</source>
        <translation>“{name}” 항목을 고정하지 못했습니다. {reason}</translation>
    </message>
    <message>
        <source>“{name}” is still pinned. {reason}</source>
        <translation>“{name}” 항목이 아직 고정되어 있습니다. {reason}</translation>
    </message>
    <message>
        <source>“{name}” was not warmed. {reason}</source>
        <translation>“{name}” 항목을 예열하지 못했습니다. {reason}</translation>
    </message>
    <message>
        <source>“{name}” is still being computed. {reason}</source>
        <translation>“{name}” 항목을 아직 계산하고 있습니다. {reason}</translation>
    </message>
    <message>
        <source>“{name}” was not deleted. {reason}</source>
        <translation>“{name}” 항목을 삭제하지 못했습니다. {reason}</translation>
    </message>
    <message>
        <source>“{name}” was not restored. {reason}</source>
        <translation>“{name}” 항목을 복원하지 못했습니다. {reason}</translation>
    </message>
    <message>
        <source>{first} ({number} more)</source>
        <translation>{first} (외 {number}개)</translation>
    </message>
</context>
<context>
    <name>ConnectPage</name>
    <message>
        <source>Address</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Model</source>
        <translation type="unfinished">모델</translation>
    </message>
    <message>
        <source>the address</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>the model’s name</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Connect</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>No model is loaded yet.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>None is needed on this machine. Clients that insist on one take any text.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Key</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>ConnectionStatus</name>
    <message>
        <source>Waiting for your first request</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Set up any client below and ask it something. It shows here at once.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Connected: {client} just asked</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Connected: {client} asked at {time}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{tokens} prompt tokens, {cached} of them reused.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The first word came after {time}.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>CopyButton</name>
    <message>
        <source>Copy</source>
        <translation>복사</translation>
    </message>
    <message>
        <source>Copied</source>
        <translation>복사됨</translation>
    </message>
    <message>
        <source>Copy {what}</source>
        <translation>{what} 복사</translation>
    </message>
</context>
<context>
    <name>Dashboard</name>
    <message>
        <source>Span of time</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>10 minutes</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>24 hours</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Dashboard</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The history could not be read. {reason}</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>DetailPane</name>
    <message>
        <source>Close the details</source>
        <translation>세부사항 닫기</translation>
    </message>
    <message>
        <source>Close the details (Esc)</source>
        <translation>세부사항 닫기 (Esc)</translation>
    </message>
    <message>
        <source>this request</source>
        <translation>이 요청</translation>
    </message>
    <message>
        <source>Versions…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>text</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Copy Text</source>
        <translation type="unfinished">텍스트 복사</translation>
    </message>
    <message>
        <source>Try Again</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Cancel and Unpin</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Version {number}</source>
        <translation type="unfinished">버전 {number}</translation>
    </message>
    <message>
        <source>Known as soon as a model serves</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{tokens} tokens · {size}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Select a prefix to see what it holds and what it costs.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{number} prefixes selected</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{prefixes}
{tokens} tokens · {size}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Beginning of the text</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The text goes on.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>State</source>
        <translation type="unfinished">상태</translation>
    </message>
    <message>
        <source>Price</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Used</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>To use it</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>DiffView</name>
    <message>
        <source>Changes</source>
        <translation>변경사항</translation>
    </message>
    <message>
        <source>Comparing…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>No changes</source>
        <translation>변경사항 없음</translation>
    </message>
    <message>
        <source>Only line ends differ</source>
        <translation>줄 끝 문자만 다름</translation>
    </message>
    <message>
        <source>Lines: {added} added, {removed} removed</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Line {number}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>More changes follow.</source>
        <translation>변경사항이 더 있습니다.</translation>
    </message>
</context>
<context>
    <name>DraftForm</name>
    <message>
        <source>What you call it</source>
        <translation>알아보기 쉬운 이름</translation>
    </message>
    <message>
        <source>Separated by commas</source>
        <translation>쉼표로 구분</translation>
    </message>
    <message>
        <source>What is new in this version</source>
        <translation>이 버전에서 달라진 점</translation>
    </message>
    <message>
        <source>Text</source>
        <translation>텍스트</translation>
    </message>
    <message>
        <source>Changes</source>
        <translation>변경사항</translation>
    </message>
    <message>
        <source>Text or changes</source>
        <translation>텍스트 또는 변경사항</translation>
    </message>
    <message>
        <source>&amp;Name</source>
        <translation>이름(&amp;N)</translation>
    </message>
    <message>
        <source>&amp;Kind</source>
        <translation>종류(&amp;K)</translation>
    </message>
    <message>
        <source>This text has unusual line ends or marks. Editing makes ordinary ones of them.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Tags</source>
        <translation>태그(&amp;T)</translation>
    </message>
    <message>
        <source>N&amp;ote</source>
        <translation>메모(&amp;O)</translation>
    </message>
    <message>
        <source>Tools, as &amp;JSON</source>
        <translation>도구, JSON 형식(&amp;J)</translation>
    </message>
    <message>
        <source>Messages, as &amp;JSON</source>
        <translation>메시지, JSON 형식(&amp;J)</translation>
    </message>
    <message>
        <source>Te&amp;xt</source>
        <translation>텍스트(&amp;X)</translation>
    </message>
    <message>
        <source>Clients must send the same text, letter by letter.</source>
        <translation>클라이언트가 한 글자도 다르지 않은 같은 텍스트를 보내야 합니다.</translation>
    </message>
</context>
<context>
    <name>DropHint</name>
    <message>
        <source>Drop to make a prefix</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>EditorSheet</name>
    <message>
        <source>Create</source>
        <translation>생성</translation>
    </message>
    <message>
        <source>Discard what you have written?</source>
        <translation>작성한 내용을 버리겠습니까?</translation>
    </message>
    <message>
        <source>It has not been saved and cannot be brought back.</source>
        <translation>아직 저장하지 않았으며 되돌릴 수 없습니다.</translation>
    </message>
    <message>
        <source>Discard</source>
        <translation>버리기</translation>
    </message>
    <message>
        <source>Saving…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Not saved. {reason}</source>
        <translation>저장하지 못했습니다. {reason}</translation>
    </message>
    <message>
        <source>New Prefix</source>
        <translation>새로운 프리픽스</translation>
    </message>
    <message>
        <source>Edit “{name}”</source>
        <translation>“{name}” 편집</translation>
    </message>
    <message>
        <source>Save Version {number}</source>
        <translation>버전 {number} 저장</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>저장</translation>
    </message>
</context>
<context>
    <name>FilesSection</name>
    <message>
        <source>Files and help</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Data folder</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Open the data folder</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Log folder</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Open the log folder</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>the diagnostics</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Diagnostics</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Versions, device, model, figures and the last {number} lines of the log, to paste where you ask for help. No prompt, answer or key is in it.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Open</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>No program here opens folders.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>FirstRun</name>
    <message>
        <source>No request yet</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Point a chat client at Ondol and ask something. Here you will see how much of each prompt was already warm, how soon the first word came, and what the memory is used for.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Connect a client</source>
        <translation type="unfinished">클라이언트 연결</translation>
    </message>
</context>
<context>
    <name>LookSection</name>
    <message>
        <source>Look and language</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Appearance</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>System</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Light</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Dark</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Language</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>MemorySection</name>
    <message>
        <source>Memory</source>
        <translation type="unfinished">메모리</translation>
    </message>
    <message>
        <source>How the memory is chosen</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Automatic</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Custom</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Memory for prompts</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Computed prompts stay in it for reuse, beside the answers being written. The model comes on top.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>How many tokens fit is known once a model is loaded.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Room for about {tokens} tokens, such as {number} conversations of {each}.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Room for about {tokens} tokens.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>ModelSection</name>
    <message>
        <source>Model</source>
        <translation type="unfinished">모델</translation>
    </message>
    <message>
        <source>Choose Folder…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Use the Starter Model</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>No model</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Looking the folder over…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{state} · {architecture} · context of {tokens} tokens</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The starter model, which comes with Ondol.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Choose another folder, or use the starter model.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The present model goes on. Choose another folder.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Choose a model folder</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Use This Model</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>NameDialog</name>
    <message>
        <source>Pin the last request</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Keep the last request warm</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The next chat that begins like it starts without computing that beginning again. You find it under Prefixes.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Name:</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Pin</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>Notice</name>
    <message>
        <source>Open Settings</source>
        <translation>설정 열기</translation>
    </message>
    <message>
        <source>History is not being stored</source>
        <translation>기록이 저장되지 않고 있음</translation>
    </message>
    <message>
        <source>{reason} Nothing is lost yet: it is tried again.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>NoticeBar</name>
    <message>
        <source>Dismiss</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>Panels</name>
    <message>
        <source>Reading prefixes…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>No prefix matches</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>None of this kind has these words in its name or its tags.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Show All</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Nothing was deleted</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>A deleted prefix can be restored from here for 30 days.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Prefixes cannot be read</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Try Again</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>PhaseBar</name>
    <message>
        <source>Waiting {time}</source>
        <translation>대기 {time}</translation>
    </message>
    <message>
        <source>Prompt {time}</source>
        <translation>프롬프트 {time}</translation>
    </message>
    <message>
        <source>Answer {time}</source>
        <translation>응답 {time}</translation>
    </message>
    <message>
        <source>Phases of the request</source>
        <translation>요청의 단계</translation>
    </message>
    <message>
        <source>Waiting: until the request could start. Prompt: computing what was not reused, to the first token. Answer: from the first token to the last.</source>
        <translation>대기: 요청을 시작할 수 있을 때까지. 프롬프트: 재사용하지 못한 부분을 계산하여 첫 토큰이 나올 때까지. 응답: 첫 토큰부터 마지막 토큰까지.</translation>
    </message>
</context>
<context>
    <name>PortDialog</name>
    <message>
        <source>Port taken</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Another program is using port {port}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Ondol listens on {url} for chat clients. Choose another port here and in your clients, or quit the other program and try this one again.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Port</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Port:</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Quit Ondol</source>
        <translation>온돌 종료</translation>
    </message>
    <message>
        <source>Try Again</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Use This Port</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>PrefixTable</name>
    <message>
        <source>Prefixes</source>
        <translation>프리픽스</translation>
    </message>
</context>
<context>
    <name>PrefixesPage</name>
    <message>
        <source>New</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Prefixes</source>
        <translation type="unfinished">프리픽스</translation>
    </message>
    <message>
        <source>Pin</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Warm</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>“{name}” was deleted.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{number} prefixes were deleted.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Undo</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{file} was not imported. {reason}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Import as “{name}”</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Import as Document</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Search names and tags</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Search prefixes</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Kind of prefixes</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>All kinds</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Deleted</source>
        <translation type="unfinished">삭제됨</translation>
    </message>
    <message>
        <source>New prefix</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>PriceLine</name>
    <message>
        <source>Counting…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Tokens are counted as soon as a model serves.</source>
        <translation>모델이 준비되면 토큰을 셉니다.</translation>
    </message>
</context>
<context>
    <name>RemoveDialog</name>
    <message>
        <source>Remove Everything</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>remove</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Remove everything?</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Ondol stops, and {size} are deleted for good. Models in folders of your own stay.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Type “{word}” to confirm:</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Not Ondol’s, so it stays in the same folders: {names}.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Starter model</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Templates, settings, history</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Backup of these</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Log</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Login item</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Working file</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>RemoveSection</name>
    <message>
        <source>Remove Ondol</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Remove Everything…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Remove everything</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Stops Ondol and deletes its data, its logs and its login item. You see first what goes.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>RequestTable</name>
    <message>
        <source>Copy as text</source>
        <translation>텍스트로 복사</translation>
    </message>
    <message>
        <source>Requests</source>
        <translation>요청</translation>
    </message>
</context>
<context>
    <name>RequestsPage</name>
    <message>
        <source>Reading the history…</source>
        <translation>기록을 읽는 중…</translation>
    </message>
    <message>
        <source>No requests yet</source>
        <translation>아직 요청 없음</translation>
    </message>
    <message>
        <source>Every request that a client sends appears here: how long it took, how much of its prompt was reused, and how it ended. What anyone wrote is never kept.</source>
        <translation>클라이언트가 보낸 모든 요청이 여기에 나타납니다. 걸린 시간, 프롬프트에서 재사용한 양, 끝난 방식을 볼 수 있습니다. 주고받은 내용은 저장하지 않습니다.</translation>
    </message>
    <message>
        <source>Connect a client</source>
        <translation>클라이언트 연결</translation>
    </message>
    <message>
        <source>No request matches</source>
        <translation>일치하는 요청 없음</translation>
    </message>
    <message>
        <source>Nothing among the last requests fits this filter.</source>
        <translation>최근 요청 중 이 필터에 맞는 것이 없습니다.</translation>
    </message>
    <message>
        <source>Show all</source>
        <translation>모두 보기</translation>
    </message>
    <message>
        <source>Requests</source>
        <translation>요청</translation>
    </message>
    <message>
        <source>Earlier requests cannot be shown: {reason}</source>
        <translation>이전 요청을 표시할 수 없습니다. {reason}</translation>
    </message>
    <message>
        <source>{shown} of {known}</source>
        <translation>{known} 중 {shown}</translation>
    </message>
    <message>
        <source>1 request</source>
        <translation>요청 1개</translation>
    </message>
    <message>
        <source>{number} requests</source>
        <translation>요청 {number}개</translation>
    </message>
    <message>
        <source>{number} newer</source>
        <translation>새 요청 {number}개</translation>
    </message>
    <message>
        <source>Search client, model or id</source>
        <translation>클라이언트, 모델 또는 ID 검색</translation>
    </message>
    <message>
        <source>Search requests</source>
        <translation>요청 검색</translation>
    </message>
    <message>
        <source>State of the requests</source>
        <translation>요청 상태</translation>
    </message>
    <message>
        <source>All states</source>
        <translation>모든 상태</translation>
    </message>
    <message>
        <source>Go to the newest request</source>
        <translation>가장 최근 요청으로 이동</translation>
    </message>
</context>
<context>
    <name>RestartBar</name>
    <message>
        <source>Restart Ondol</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Takes effect after a restart: {names}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Requests that run now end with an error. What was computed is lost; pinned prefixes come back.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>What was computed is lost; pinned prefixes come back.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>port</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>memory</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>language</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>ServerSection</name>
    <message>
        <source>Server</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Port</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Start at login</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The system starts Ondol in the menu bar, without its window.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Until the restart clients find Ondol at {url}.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Clients find Ondol at {url}.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Choose a number from {least} to {most}.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The login item could not be changed: {reason}.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>SettingsPage</name>
    <message>
        <source>Settings</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The settings cannot be read: {reason}</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>Sidebar</name>
    <message>
        <source>Pages</source>
        <translation>페이지</translation>
    </message>
</context>
<context>
    <name>TodayTiles</name>
    <message>
        <source>Reused today</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Prompt tokens since midnight that were warm and not computed again.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Hit rate today</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Reused tokens&apos; share of all prompt tokens.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>First token</source>
        <translation type="unfinished">첫 토큰</translation>
    </message>
    <message>
        <source>Median time from a request to its first token, today. A request is warm if at least half of its prompt was reused.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Requests today</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Requests that have ended.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Time saved today</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Nothing was measured yet.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>–</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>of {number} tokens</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>of prompt tokens</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{number} with a hit</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>estimated</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Reused tokens × the measured time to compute one prompt token ({number} ms, the median of the last 24 hours).</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>warm against cold</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>cold; none was warm</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>warm; none was cold</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>warm; {time} cold</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>TogetherSheet</name>
    <message>
        <source>A request that sends tools begins with its system policy, so both are kept warm together: choose the policy that clients send with these tools.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>No system policy</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Together with</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>TrayActions</name>
    <message>
        <source>Chat of {time}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Pinned</source>
        <translation type="unfinished">고정됨</translation>
    </message>
    <message>
        <source>“{name}” is being warmed.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>VersionsSheet</name>
    <message>
        <source>Versions of “{name}”</source>
        <translation>“{name}”의 버전</translation>
    </message>
    <message>
        <source>Versions</source>
        <translation>버전</translation>
    </message>
    <message>
        <source>Copy Text</source>
        <translation>텍스트 복사</translation>
    </message>
    <message>
        <source>Bring This Version Back</source>
        <translation>이 버전으로 되돌리기</translation>
    </message>
    <message>
        <source>Makes a new version with this text</source>
        <translation>이 텍스트로 새로운 버전을 만듭니다</translation>
    </message>
    <message>
        <source>Reading versions…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Version {number}</source>
        <translation>버전 {number}</translation>
    </message>
    <message>
        <source>The first version</source>
        <translation>첫 번째 버전</translation>
    </message>
    <message>
        <source>Changes since version {number}</source>
        <translation>버전 {number} 이후 변경사항</translation>
    </message>
    <message>
        <source>Back to version {number}</source>
        <translation>버전 {number}(으)로 되돌림</translation>
    </message>
</context>
<context>
    <name>Welcome</name>
    <message>
        <source>Compute it once, keep it warm</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>A prefix is what many requests begin with: the policy of an assistant, its tools, a document. Pinned here it stays in memory, and answers to every request that begins with it start at once.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Write a system policy</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The text that tells an assistant who it is and how it answers.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Paste a tool schema</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The JSON list of functions that an assistant may call.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Keep a document</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>A text that many questions are about. Or drop a file here.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>_Figures</name>
    <message>
        <source>Prompt tokens</source>
        <translation>프롬프트 토큰</translation>
    </message>
    <message>
        <source>Reused</source>
        <translation>재사용</translation>
    </message>
    <message>
        <source>Computed</source>
        <translation>계산</translation>
    </message>
    <message>
        <source>Generated</source>
        <translation>생성</translation>
    </message>
    <message>
        <source>First token</source>
        <translation>첫 토큰</translation>
    </message>
    <message>
        <source>Tokens/s</source>
        <translation>토큰/초</translation>
    </message>
</context>
<context>
    <name>_ThingsList</name>
    <message>
        <source>What is deleted</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Name</source>
        <translation type="unfinished">이름</translation>
    </message>
    <message>
        <source>What it is</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Size</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>connect</name>
    <message>
        <source>The Python package; the same two values fit OpenAI’s other packages.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>For its first start. One that has run before takes the address, with any key, under Admin Settings → Connections. In Docker it needs --network=host.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Run this once in a terminal; from then on: llm -m ondol.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>In a terminal, to see whether it answers.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>dashboard</name>
    <message>
        <source>Now</source>
        <translation>지금</translation>
    </message>
    <message>
        <source>{time} ago</source>
        <translation>{time} 전</translation>
    </message>
    <message>
        <source>−{number} min</source>
        <translation>−{number}분</translation>
    </message>
    <message>
        <source>now</source>
        <translation>지금</translation>
    </message>
    <message>
        <source>Prompt tokens</source>
        <translation type="unfinished">프롬프트 토큰</translation>
    </message>
    <message>
        <source>Reused</source>
        <translation type="unfinished">재사용</translation>
    </message>
    <message>
        <source>Computed</source>
        <translation type="unfinished">계산</translation>
    </message>
    <message>
        <source>Hit rate</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{share} reused</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Per second, averaged over 10 seconds</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>In 15 minutes</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{number} tokens/s</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{number} tokens</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Time to first token</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Cold</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Warm</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{number}× sooner when warm</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>From a request to the first word of its answer</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Speed</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Prefill</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Decode</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Tokens per second while a request is worked on</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Evictions</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Evicted</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Nothing was evicted</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Pages that made room for others, in {time}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Pages that made room for others, in 15 minutes</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Memory</source>
        <translation type="unfinished">메모리</translation>
    </message>
    <message>
        <source>Pinned</source>
        <translation type="unfinished">고정됨</translation>
    </message>
    <message>
        <source>Resident</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Running</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Free</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{name} {size}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{used} of {budget}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Computed prompts that stay in memory, within the budget</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{number} pages</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>pages</name>
    <message>
        <source>Dashboard</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Prefixes</source>
        <translation type="unfinished">프리픽스</translation>
    </message>
    <message>
        <source>Requests</source>
        <translation type="unfinished">요청</translation>
    </message>
    <message>
        <source>Connect</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Settings</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>prefixes</name>
    <message>
        <source>Name</source>
        <translation>이름</translation>
    </message>
    <message>
        <source>Kind</source>
        <translation>종류</translation>
    </message>
    <message>
        <source>Version</source>
        <translation>버전</translation>
    </message>
    <message>
        <source>Tokens</source>
        <translation>토큰</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>메모리</translation>
    </message>
    <message>
        <source>State</source>
        <translation>상태</translation>
    </message>
    <message>
        <source>Pinned</source>
        <translation>고정됨</translation>
    </message>
    <message>
        <source>Hits</source>
        <translation>적중</translation>
    </message>
    <message>
        <source>Last used</source>
        <translation>최근 사용</translation>
    </message>
    <message>
        <source>System policy</source>
        <translation>시스템 정책</translation>
    </message>
    <message>
        <source>Tool schema</source>
        <translation>도구 스키마</translation>
    </message>
    <message>
        <source>Document</source>
        <translation>문서</translation>
    </message>
    <message>
        <source>House instructions</source>
        <translation>우리 집 지침</translation>
    </message>
    <message>
        <source>Chat history</source>
        <translation>대화 기록</translation>
    </message>
    <message>
        <source>System policies</source>
        <translation>시스템 정책</translation>
    </message>
    <message>
        <source>Tool schemas</source>
        <translation>도구 스키마</translation>
    </message>
    <message>
        <source>Documents</source>
        <translation>문서</translation>
    </message>
    <message>
        <source>Chat histories</source>
        <translation>대화 기록</translation>
    </message>
    <message>
        <source>Deleted</source>
        <translation>삭제됨</translation>
    </message>
    <message>
        <source>Not warm</source>
        <translation>예열 안 됨</translation>
    </message>
    <message>
        <source>Queued</source>
        <translation>대기 중</translation>
    </message>
    <message>
        <source>Building {share}</source>
        <translation>예열 중 {share}</translation>
    </message>
    <message>
        <source>Ready</source>
        <translation>준비됨</translation>
    </message>
    <message>
        <source>Failed</source>
        <translation>실패</translation>
    </message>
    <message>
        <source>It can be restored for 30 days after it was deleted.</source>
        <translation>삭제 후 30일 동안 복원할 수 있습니다.</translation>
    </message>
    <message>
        <source>The first request that uses it computes it. Pin it to keep it warm.</source>
        <translation>처음 사용하는 요청이 계산합니다. 예열 상태를 유지하려면 고정하십시오.</translation>
    </message>
    <message>
        <source>It is computed when its turn comes.</source>
        <translation>차례가 되면 계산합니다.</translation>
    </message>
    <message>
        <source>Requests go first; this is computed in between.</source>
        <translation>요청을 먼저 처리하고, 그 사이에 계산합니다.</translation>
    </message>
    <message>
        <source>Pinned: it stays in memory.</source>
        <translation>고정됨: 메모리에 계속 남습니다.</translation>
    </message>
    <message>
        <source>It stays until memory is needed.</source>
        <translation>메모리가 필요해질 때까지 남습니다.</translation>
    </message>
    <message>
        <source>Not pinned</source>
        <translation>고정 안 됨</translation>
    </message>
    <message>
        <source>{tokens} tokens · {size} · {time} to compute</source>
        <translation>토큰 {tokens}개 · {size} · 계산에 {time}</translation>
    </message>
    <message>
        <source>just now</source>
        <translation>방금</translation>
    </message>
    <message>
        <source>{minutes} min ago</source>
        <translation>{minutes}분 전</translation>
    </message>
    <message>
        <source>{hours} h ago</source>
        <translation>{hours}시간 전</translation>
    </message>
    <message>
        <source>Not yet since it became warm</source>
        <translation>예열된 후 아직 없음</translation>
    </message>
    <message>
        <source>Once</source>
        <translation>한 번</translation>
    </message>
    <message>
        <source>{hits} times</source>
        <translation>{hits}번</translation>
    </message>
    <message>
        <source>{times}, last {moment}</source>
        <translation>{times}, 최근 {moment}</translation>
    </message>
    <message>
        <source>Send these tools in this order, with “{policy}” as the system message, letter by letter.</source>
        <translation>“{policy}” 내용을 시스템 메시지로 하여, 이 도구들을 이 순서대로, 한 글자도 바꾸지 않고 보내십시오.</translation>
    </message>
    <message>
        <source>Send these tools in this order, and no system message.</source>
        <translation>시스템 메시지 없이 이 도구들을 이 순서대로 보내십시오.</translation>
    </message>
    <message>
        <source>Begin the conversation with these messages, letter by letter.</source>
        <translation>한 글자도 바꾸지 않고 이 메시지들로 대화를 시작하십시오.</translation>
    </message>
    <message>
        <source>Send exactly this text as the system message, letter by letter.</source>
        <translation>한 글자도 바꾸지 않고 이 텍스트를 시스템 메시지로 보내십시오.</translation>
    </message>
    <message>
        <source>Make prefixes of files</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Text and JSON (*.txt *.md *.json)</source>
        <translation>텍스트 및 JSON (*.txt *.md *.json)</translation>
    </message>
    <message>
        <source>All files (*)</source>
        <translation>모든 파일 (*)</translation>
    </message>
</context>
<context>
    <name>requests</name>
    <message>
        <source>Time</source>
        <translation>시간</translation>
    </message>
    <message>
        <source>Client</source>
        <translation>클라이언트</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>모델</translation>
    </message>
    <message>
        <source>Prompt</source>
        <translation>프롬프트</translation>
    </message>
    <message>
        <source>Reused</source>
        <translation>재사용</translation>
    </message>
    <message>
        <source>First token</source>
        <translation>첫 토큰</translation>
    </message>
    <message>
        <source>Tokens/s</source>
        <translation>토큰/초</translation>
    </message>
    <message>
        <source>State</source>
        <translation>상태</translation>
    </message>
    <message>
        <source>{share} of the prompt was reused</source>
        <translation>프롬프트의 {share} 재사용</translation>
    </message>
    <message>
        <source>Finished</source>
        <translation>완료</translation>
    </message>
    <message>
        <source>Length limit</source>
        <translation>길이 제한</translation>
    </message>
    <message>
        <source>Cancelled</source>
        <translation>취소됨</translation>
    </message>
    <message>
        <source>Failed</source>
        <translation>실패</translation>
    </message>
    <message>
        <source>Unnamed client</source>
        <translation>이름 없는 클라이언트</translation>
    </message>
    <message>
        <source>The answer is complete: the model ended it, or one of the client’s stop texts appeared.</source>
        <translation>응답이 완성되었습니다. 모델이 응답을 끝냈거나 클라이언트가 지정한 중지 텍스트가 나타났습니다.</translation>
    </message>
    <message>
        <source>The client asked for no answer, only for the prompt to be computed. It is kept ready for the next request.</source>
        <translation>클라이언트가 응답 없이 프롬프트 계산만 요청했습니다. 다음 요청을 위해 준비해 둡니다.</translation>
    </message>
    <message>
        <source>The answer was cut off: it reached the most tokens that the client allowed, or the end of what the model can take in. A larger limit in the client gives longer answers.</source>
        <translation>응답이 도중에 끊겼습니다. 클라이언트가 허용한 최대 토큰 수 또는 모델이 처리할 수 있는 한계에 도달했습니다. 클라이언트에서 제한을 늘리면 더 긴 응답을 받을 수 있습니다.</translation>
    </message>
    <message>
        <source>The client closed the connection before the answer was complete, or Ondol was stopped. What had been computed of the prompt can still be reused.</source>
        <translation>응답이 완성되기 전에 클라이언트가 연결을 닫았거나 온돌이 중단되었습니다. 이미 계산한 프롬프트는 계속 재사용할 수 있습니다.</translation>
    </message>
    <message>
        <source>Ondol could not complete this request, and told the client so. The log, which Settings opens, has the reason.</source>
        <translation>온돌이 이 요청을 완료하지 못했으며 클라이언트에 이를 알렸습니다. 이유는 설정에서 열 수 있는 로그에 있습니다.</translation>
    </message>
</context>
<context>
    <name>run</name>
    <message>
        <source>Ondol is already running</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The data folder cannot be used</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>status</name>
    <message>
        <source>Stopped</source>
        <translation>중단됨</translation>
    </message>
    <message>
        <source>Stopping…</source>
        <translation>중단하는 중…</translation>
    </message>
    <message>
        <source>Loading the model…</source>
        <translation>모델을 불러오는 중…</translation>
    </message>
    <message>
        <source>Restarting…</source>
        <translation>다시 시작하는 중…</translation>
    </message>
    <message>
        <source>Requests that were running got an error. Pinned prefixes come back.</source>
        <translation>실행 중이던 요청은 오류로 끝났습니다. 고정된 프리픽스는 다시 예열됩니다.</translation>
    </message>
    <message>
        <source>Not responding</source>
        <translation>응답 없음</translation>
    </message>
    <message>
        <source>Running requests were ended. If this lasts, quit Ondol and start it again.</source>
        <translation>실행 중이던 요청을 종료했습니다. 이 상태가 계속되면 온돌을 종료하고 다시 시작하십시오.</translation>
    </message>
    <message>
        <source>No model is running</source>
        <translation>실행 중인 모델 없음</translation>
    </message>
    <message>
        <source>Choose another model in Settings.</source>
        <translation>설정에서 다른 모델을 선택하십시오.</translation>
    </message>
    <message>
        <source>Busy with one request</source>
        <translation>요청 1개 처리 중</translation>
    </message>
    <message>
        <source>Busy with {number} requests</source>
        <translation>요청 {number}개 처리 중</translation>
    </message>
    <message>
        <source>Warming, {share}</source>
        <translation>예열 중, {share}</translation>
    </message>
    <message>
        <source>Ready</source>
        <translation>준비됨</translation>
    </message>
    <message>
        <source>Pausing, {number} still running</source>
        <translation>일시 정지하는 중, {number}개 실행 중</translation>
    </message>
    <message>
        <source>Paused, {number} waiting</source>
        <translation>일시 정지됨, {number}개 대기 중</translation>
    </message>
    <message>
        <source>Paused</source>
        <translation>일시 정지됨</translation>
    </message>
</context>
<context>
    <name>text</name>
    <message>
        <source>{number} M</source>
        <translation>{number}M</translation>
    </message>
    <message>
        <source>{number} %</source>
        <translation>{number}%</translation>
    </message>
    <message>
        <source>{number} ms</source>
        <translation>{number}ms</translation>
    </message>
    <message>
        <source>{number} s</source>
        <translation>{number}초</translation>
    </message>
    <message>
        <source>{minutes} min {seconds} s</source>
        <translation>{minutes}분 {seconds}초</translation>
    </message>
    <message>
        <source>{hours} h {minutes} min</source>
        <translation>{hours}시간 {minutes}분</translation>
    </message>
</context>
<context>
    <name>tray</name>
    <message>
        <source>Resume</source>
        <translation>재개</translation>
    </message>
    <message>
        <source>Pause</source>
        <translation>일시 정지</translation>
    </message>
    <message>
        <source>Copy Base URL</source>
        <translation>기본 URL 복사</translation>
    </message>
    <message>
        <source>Pin the Last Request…</source>
        <translation>최근 요청 고정…</translation>
    </message>
    <message>
        <source>Open Ondol</source>
        <translation>온돌 열기</translation>
    </message>
    <message>
        <source>Quit Ondol</source>
        <translation>온돌 종료</translation>
    </message>
    <message>
        <source>{model}: {doing}</source>
        <translation>{model}: {doing}</translation>
    </message>
    <message>
        <source>Reading a prompt: {done} of {total} tokens</source>
        <translation>프롬프트 읽는 중: 토큰 {total}개 중 {done}개</translation>
    </message>
    <message>
        <source>Warming a prefix: {share}</source>
        <translation>프리픽스 예열 중: {share}</translation>
    </message>
    <message>
        <source>Warming {count} prefixes: {share}</source>
        <translation>프리픽스 {count}개 예열 중: {share}</translation>
    </message>
    <message>
        <source>Today: nothing reused yet</source>
        <translation>오늘: 아직 재사용 없음</translation>
    </message>
    <message>
        <source>Today: {tokens} tokens reused, cache hits: {hits}</source>
        <translation>오늘: 토큰 {tokens}개 재사용, 캐시 적중 {hits}번</translation>
    </message>
    <message>
        <source>Ondol is ready</source>
        <translation>온돌 준비됨</translation>
    </message>
    <message>
        <source>Ondol is working</source>
        <translation>온돌 작업 중</translation>
    </message>
    <message>
        <source>Ondol is warming up</source>
        <translation>온돌 예열 중</translation>
    </message>
    <message>
        <source>Ondol is paused</source>
        <translation>온돌 일시 정지됨</translation>
    </message>
    <message>
        <source>Ondol needs attention</source>
        <translation>온돌 확인 필요</translation>
    </message>
    <message>
        <source>loading</source>
        <translation>불러오는 중</translation>
    </message>
    <message>
        <source>not answering</source>
        <translation>응답 없음</translation>
    </message>
    <message>
        <source>restarting after an error</source>
        <translation>오류 후 다시 시작하는 중</translation>
    </message>
    <message>
        <source>cannot be used</source>
        <translation>사용할 수 없음</translation>
    </message>
    <message>
        <source>stopped</source>
        <translation>중단됨</translation>
    </message>
    <message>
        <source>paused, {count} waiting</source>
        <translation>일시 정지됨, {count}개 대기 중</translation>
    </message>
    <message>
        <source>paused</source>
        <translation>일시 정지됨</translation>
    </message>
    <message>
        <source>{running} running, {waiting} waiting</source>
        <translation>{running}개 실행 중, {waiting}개 대기 중</translation>
    </message>
    <message>
        <source>1 request running</source>
        <translation>요청 1개 실행 중</translation>
    </message>
    <message>
        <source>{count} requests running</source>
        <translation>요청 {count}개 실행 중</translation>
    </message>
    <message>
        <source>ready</source>
        <translation>준비됨</translation>
    </message>
</context>
</TS>
