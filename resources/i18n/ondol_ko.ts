<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="ko_KR">
<context>
    <name>Actions</name>
    <message>
        <source>From File…</source>
        <translation>파일에서…</translation>
    </message>
    <message>
        <source>Edit…</source>
        <translation>편집…</translation>
    </message>
    <message>
        <source>Pin</source>
        <translation>고정</translation>
    </message>
    <message>
        <source>Unpin</source>
        <translation>고정 해제</translation>
    </message>
    <message>
        <source>Choose Policy…</source>
        <translation>정책 선택…</translation>
    </message>
    <message>
        <source>Warm Now</source>
        <translation>지금 예열</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>취소</translation>
    </message>
    <message>
        <source>Versions…</source>
        <translation>버전…</translation>
    </message>
    <message>
        <source>Copy Text</source>
        <translation>텍스트 복사</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>삭제</translation>
    </message>
    <message>
        <source>Restore</source>
        <translation>복원</translation>
    </message>
</context>
<context>
    <name>AdmissionRow</name>
    <message>
        <source>When several ask at once</source>
        <translation>여러 요청이 함께 들어올 때</translation>
    </message>
    <message>
        <source>For this run, as the command line says: {choice}.</source>
        <translation>{choice} (명령줄에서 지정, 이번 실행에만 적용)</translation>
    </message>
    <message>
        <source>Keep prefixes warm (recommended)</source>
        <translation>프리픽스 예열 유지(권장)</translation>
    </message>
    <message>
        <source>Balanced</source>
        <translation>균형</translation>
    </message>
    <message>
        <source>Most answers at once</source>
        <translation>동시 응답 최대화</translation>
    </message>
    <message>
        <source>Automatic</source>
        <translation>자동</translation>
    </message>
    <message>
        <source>An answer starts once there is room for it beside the prefixes in use; until then it waits.</source>
        <translation>사용 중인 프리픽스를 두고도 공간이 있을 때 응답을 시작하며, 그때까지 기다립니다.</translation>
    </message>
    <message>
        <source>Answers may take half of the room of the prefixes in use, so fewer wait.</source>
        <translation>사용 중인 프리픽스 공간의 절반까지 응답에 쓸 수 있어 덜 기다립니다.</translation>
    </message>
    <message>
        <source>As many answers as fit. Prefixes get cold sooner, and answers may have to make way for each other.</source>
        <translation>들어가는 만큼 응답을 시작합니다. 프리픽스가 더 빨리 식고, 응답끼리 자리를 내주어야 할 수 있습니다.</translation>
    </message>
    <message>
        <source>Ondol decides by how much of what is asked was warm lately: the more, the more it protects.</source>
        <translation>최근 요청이 얼마나 예열되어 있었는지를 보고 온돌이 정합니다. 많을수록 더 보호합니다.</translation>
    </message>
</context>
<context>
    <name>Application</name>
    <message>
        <source>Ondol did not end properly last time</source>
        <translation>지난번에 온돌이 제대로 종료되지 않음</translation>
    </message>
    <message>
        <source>What was saved is there. The log may say why.</source>
        <translation>저장된 내용은 그대로 있습니다. 이유는 로그에 있을 수 있습니다.</translation>
    </message>
    <message>
        <source>Open Log Folder</source>
        <translation>로그 폴더 열기</translation>
    </message>
    <message>
        <source>Ondol goes on without its window</source>
        <translation>온돌은 창 없이 계속 실행됩니다</translation>
    </message>
    <message>
        <source>It keeps answering your clients. To see the window again, start Ondol once more. {key} in the window quits it.</source>
        <translation>클라이언트 요청에 계속 응답합니다. 창을 다시 보려면 온돌을 한 번 더 실행하세요. 종료하려면 창에서 {key} 키를 누르세요.</translation>
    </message>
    <message>
        <source>The engine stopped working</source>
        <translation>엔진이 작동을 멈춤</translation>
    </message>
    <message>
        <source>Requests that were running got an error. Ondol is trying to bring it back.</source>
        <translation>실행 중이던 요청은 오류로 끝났습니다. 온돌이 엔진을 다시 시작하고 있습니다.</translation>
    </message>
    <message>
        <source>Ondol is back</source>
        <translation>온돌이 다시 작동함</translation>
    </message>
    <message>
        <source>Requests are answered again.</source>
        <translation>요청에 다시 응답합니다.</translation>
    </message>
    <message>
        <source>Ondol cannot start</source>
        <translation>온돌을 시작할 수 없음</translation>
    </message>
    <message>
        <source>Quit Ondol</source>
        <translation>온돌 종료</translation>
    </message>
    <message>
        <source>Open Data Folder</source>
        <translation>데이터 폴더 열기</translation>
    </message>
    <message>
        <source>If you quit now, they end with an error.</source>
        <translation>지금 종료하면 오류로 끝납니다.</translation>
    </message>
    <message>
        <source>Quit</source>
        <translation>종료</translation>
    </message>
    <message>
        <source>If you restart now, they end with an error.</source>
        <translation>지금 다시 시작하면 오류로 끝납니다.</translation>
    </message>
    <message>
        <source>Restart</source>
        <translation>다시 시작</translation>
    </message>
    <message>
        <source>A request is still running</source>
        <translation>요청 1개가 아직 실행 중임</translation>
    </message>
    <message>
        <source>{number} requests are still running</source>
        <translation>요청 {number}개가 아직 실행 중임</translation>
    </message>
</context>
<context>
    <name>AtOnceRow</name>
    <message>
        <source>Answers at once</source>
        <translation>동시 응답 수</translation>
    </message>
    <message>
        <source>Never more than this, however much memory is free. Automatic stops at {number}.</source>
        <translation>메모리가 아무리 남아도 이보다 많이 시작하지 않습니다. 자동일 때는 최대 {number}개입니다.</translation>
    </message>
    <message>
        <source>{number} for this run, as the command line says.</source>
        <translation>{number}개 (명령줄에서 지정, 이번 실행에만 적용)</translation>
    </message>
    <message>
        <source>Automatic</source>
        <translation>자동</translation>
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
        <translation>{name}용 코드</translation>
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
        <translation>주소</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>모델</translation>
    </message>
    <message>
        <source>the address</source>
        <translation>주소</translation>
    </message>
    <message>
        <source>the model’s name</source>
        <translation>모델 이름</translation>
    </message>
    <message>
        <source>Connect</source>
        <translation>연결</translation>
    </message>
    <message>
        <source>No model is loaded yet.</source>
        <translation>아직 불러온 모델이 없습니다.</translation>
    </message>
    <message>
        <source>None is needed on this machine. Clients that insist on one take any text.</source>
        <translation>이 컴퓨터에서는 필요하지 않습니다. 꼭 요구하는 클라이언트에는 아무 텍스트나 입력하십시오.</translation>
    </message>
    <message>
        <source>Key</source>
        <translation>키</translation>
    </message>
</context>
<context>
    <name>ConnectionStatus</name>
    <message>
        <source>Waiting for your first request</source>
        <translation>첫 요청을 기다리는 중</translation>
    </message>
    <message>
        <source>Set up any client below and ask it something. It shows here at once.</source>
        <translation>아래에서 클라이언트를 설정하고 무엇이든 물어보십시오. 바로 여기에 나타납니다.</translation>
    </message>
    <message>
        <source>Connected: {client} just asked</source>
        <translation>연결됨: 방금 {client}에서 요청</translation>
    </message>
    <message>
        <source>Connected: {client} asked at {time}</source>
        <translation>연결됨: {time}에 {client}에서 요청</translation>
    </message>
    <message>
        <source>{tokens} prompt tokens, {cached} of them reused.</source>
        <translation>프롬프트 토큰 {tokens}개, 그중 {cached}개 재사용.</translation>
    </message>
    <message>
        <source>The first word came after {time}.</source>
        <translation>첫 단어까지 {time} 걸렸습니다.</translation>
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
        <translation>시간 범위</translation>
    </message>
    <message>
        <source>10 minutes</source>
        <translation>10분</translation>
    </message>
    <message>
        <source>24 hours</source>
        <translation>24시간</translation>
    </message>
    <message>
        <source>Dashboard</source>
        <translation>대시보드</translation>
    </message>
    <message>
        <source>The history could not be read. {reason}</source>
        <translation>기록을 읽을 수 없습니다. {reason}</translation>
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
        <translation>버전…</translation>
    </message>
    <message>
        <source>text</source>
        <translation>텍스트</translation>
    </message>
    <message>
        <source>Copy Text</source>
        <translation>텍스트 복사</translation>
    </message>
    <message>
        <source>Try Again</source>
        <translation>다시 시도</translation>
    </message>
    <message>
        <source>Cancel and Unpin</source>
        <translation>취소하고 고정 해제</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>취소</translation>
    </message>
    <message>
        <source>Version {number}</source>
        <translation>버전 {number}</translation>
    </message>
    <message>
        <source>Not counted yet</source>
        <translation>아직 세지 않음</translation>
    </message>
    <message>
        <source>{tokens} tokens · {size}</source>
        <translation>토큰 {tokens}개 · {size}</translation>
    </message>
    <message>
        <source>Select a prefix to see what it holds and what it costs.</source>
        <translation>프리픽스를 선택하면 내용과 비용을 볼 수 있습니다.</translation>
    </message>
    <message>
        <source>{number} prefixes selected</source>
        <translation>프리픽스 {number}개 선택됨</translation>
    </message>
    <message>
        <source>{prefixes}
{tokens} tokens · {size}</source>
        <translation>{prefixes}
토큰 {tokens}개 · {size}</translation>
    </message>
    <message>
        <source>Beginning of the text</source>
        <translation>텍스트의 앞부분</translation>
    </message>
    <message>
        <source>The text goes on.</source>
        <translation>텍스트가 더 있습니다.</translation>
    </message>
    <message>
        <source>State</source>
        <translation>상태</translation>
    </message>
    <message>
        <source>Price</source>
        <translation>비용</translation>
    </message>
    <message>
        <source>Used</source>
        <translation>사용</translation>
    </message>
    <message>
        <source>To use it</source>
        <translation>사용 방법</translation>
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
        <translation>비교하는 중…</translation>
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
        <translation>줄: {added}개 추가, {removed}개 삭제</translation>
    </message>
    <message>
        <source>Line {number}</source>
        <translation>{number}번째 줄</translation>
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
        <translation>이 텍스트에는 일반적이지 않은 줄 끝 문자나 기호가 있습니다. 편집하면 일반적인 것으로 바뀝니다.</translation>
    </message>
    <message>
        <source>Kind</source>
        <translation>종류</translation>
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
        <translation>놓으면 프리픽스 생성</translation>
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
        <translation>저장하는 중…</translation>
    </message>
    <message>
        <source>This is what you were writing when Ondol ended. It is not saved yet.</source>
        <translation>온돌이 종료될 때 작성하던 내용입니다. 아직 저장되지 않았습니다.</translation>
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
        <translation>파일 및 도움말</translation>
    </message>
    <message>
        <source>Data folder</source>
        <translation>데이터 폴더</translation>
    </message>
    <message>
        <source>Open the data folder</source>
        <translation>데이터 폴더 열기</translation>
    </message>
    <message>
        <source>Log folder</source>
        <translation>로그 폴더</translation>
    </message>
    <message>
        <source>Open the log folder</source>
        <translation>로그 폴더 열기</translation>
    </message>
    <message>
        <source>the diagnostics</source>
        <translation>진단 정보</translation>
    </message>
    <message>
        <source>Diagnostics</source>
        <translation>진단 정보</translation>
    </message>
    <message>
        <source>Versions, device, model, figures and the last {number} lines of the log, to paste where you ask for help. No prompt, answer or key is in it.</source>
        <translation>버전, 기기, 모델, 수치와 로그의 마지막 {number}줄입니다. 도움을 요청하는 곳에 붙여넣으십시오. 프롬프트, 응답, 키는 포함되지 않습니다.</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>열기</translation>
    </message>
    <message>
        <source>No program here opens folders.</source>
        <translation>폴더를 열 수 있는 프로그램이 없습니다.</translation>
    </message>
</context>
<context>
    <name>FirstRun</name>
    <message>
        <source>No request yet</source>
        <translation>아직 요청 없음</translation>
    </message>
    <message>
        <source>Point a chat client at Ondol and ask something. Here you will see how much of each prompt was already warm, how soon the first word came, and what the memory is used for.</source>
        <translation>채팅 클라이언트를 온돌에 연결하고 무엇이든 물어보십시오. 각 프롬프트가 얼마나 예열되어 있었는지, 첫 단어가 얼마나 빨리 나왔는지, 메모리가 어디에 쓰이는지 여기에서 볼 수 있습니다.</translation>
    </message>
    <message>
        <source>Connect a client</source>
        <translation>클라이언트 연결</translation>
    </message>
</context>
<context>
    <name>LookSection</name>
    <message>
        <source>Look and language</source>
        <translation>화면 모드 및 언어</translation>
    </message>
    <message>
        <source>Appearance</source>
        <translation>화면 모드</translation>
    </message>
    <message>
        <source>System</source>
        <translation>시스템</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>라이트</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>다크</translation>
    </message>
    <message>
        <source>Language</source>
        <translation>언어</translation>
    </message>
</context>
<context>
    <name>MemorySection</name>
    <message>
        <source>Memory</source>
        <translation>메모리</translation>
    </message>
    <message>
        <source>How the memory is chosen</source>
        <translation>메모리 선택 방법</translation>
    </message>
    <message>
        <source>Automatic</source>
        <translation>자동</translation>
    </message>
    <message>
        <source>Custom</source>
        <translation>사용자 설정</translation>
    </message>
    <message>
        <source>Memory for prompts</source>
        <translation>프롬프트용 메모리</translation>
    </message>
    <message>
        <source>Computed prompts stay in it for reuse, beside the answers being written. The model comes on top.</source>
        <translation>계산한 프롬프트를 재사용하기 위해, 작성 중인 응답과 함께 보관합니다. 모델이 쓰는 메모리는 별도입니다.</translation>
    </message>
    <message>
        <source>{size} for this run, as the command line says.</source>
        <translation>{size} (명령줄에서 지정, 이번 실행에만 적용)</translation>
    </message>
    <message>
        <source>How many tokens fit is known once a model is loaded.</source>
        <translation>토큰이 몇 개 들어가는지는 모델을 불러온 후에 알 수 있습니다.</translation>
    </message>
    <message>
        <source>Room for about {tokens} tokens, such as {number} conversations of {each}.</source>
        <translation>토큰 약 {tokens}개가 들어갑니다. 예: {each}개짜리 대화 {number}개.</translation>
    </message>
    <message>
        <source>Room for about {tokens} tokens.</source>
        <translation>토큰 약 {tokens}개가 들어갑니다.</translation>
    </message>
</context>
<context>
    <name>ModelSection</name>
    <message>
        <source>Model</source>
        <translation>모델</translation>
    </message>
    <message>
        <source>Choose Folder…</source>
        <translation>폴더 선택…</translation>
    </message>
    <message>
        <source>Use the Starter Model</source>
        <translation>기본 모델 사용</translation>
    </message>
    <message>
        <source>No model</source>
        <translation>모델 없음</translation>
    </message>
    <message>
        <source>Looking the folder over…</source>
        <translation>폴더를 확인하는 중…</translation>
    </message>
    <message>
        <source>{state} · {architecture} · context of {tokens} tokens</source>
        <translation>{state} · {architecture} · 컨텍스트 토큰 {tokens}개</translation>
    </message>
    <message>
        <source>Its prompts cannot be kept warm, since their state cannot be restored exactly: {reason}.</source>
        <translation>이 모델은 상태를 정확히 되살릴 수 없어 프롬프트를 데워 둘 수 없습니다 ({reason}).</translation>
    </message>
    <message>
        <source>Its prompts stay warm; requests take turns.</source>
        <translation>프롬프트는 데워 두며, 요청은 차례로 처리합니다.</translation>
    </message>
    <message>
        <source>{folder}, as the command line says, for this run.</source>
        <translation>{folder} (명령줄에서 지정, 이번 실행에만 적용)</translation>
    </message>
    <message>
        <source>The starter model, which comes with Ondol.</source>
        <translation>온돌에 포함된 기본 모델입니다.</translation>
    </message>
    <message>
        <source>Choose another folder, or use the starter model.</source>
        <translation>다른 폴더를 선택하거나 기본 모델을 사용하십시오.</translation>
    </message>
    <message>
        <source>The present model goes on. Choose another folder.</source>
        <translation>현재 모델을 계속 사용합니다. 다른 폴더를 선택하십시오.</translation>
    </message>
    <message>
        <source>Choose a model folder</source>
        <translation>모델 폴더 선택</translation>
    </message>
    <message>
        <source>Use This Model</source>
        <translation>이 모델 사용</translation>
    </message>
</context>
<context>
    <name>NameDialog</name>
    <message>
        <source>Pin the last request</source>
        <translation>최근 요청 고정</translation>
    </message>
    <message>
        <source>Keep the last request warm</source>
        <translation>최근 요청을 예열 상태로 유지</translation>
    </message>
    <message>
        <source>The next chat that begins like it starts without computing that beginning again. You find it under Prefixes.</source>
        <translation>같은 내용으로 시작하는 다음 대화는 앞부분을 다시 계산하지 않고 바로 시작합니다. 프리픽스 페이지에서 볼 수 있습니다.</translation>
    </message>
    <message>
        <source>Name:</source>
        <translation>이름:</translation>
    </message>
    <message>
        <source>Pin</source>
        <translation>고정</translation>
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
        <translation>{reason} 아직 잃은 내용은 없으며 다시 시도합니다.</translation>
    </message>
</context>
<context>
    <name>NoticeBar</name>
    <message>
        <source>Dismiss</source>
        <translation>닫기</translation>
    </message>
</context>
<context>
    <name>Panels</name>
    <message>
        <source>Reading prefixes…</source>
        <translation>프리픽스를 읽는 중…</translation>
    </message>
    <message>
        <source>No prefix matches</source>
        <translation>일치하는 프리픽스 없음</translation>
    </message>
    <message>
        <source>None of this kind has these words in its name or its tags.</source>
        <translation>이 종류 중에는 이름이나 태그에 이 단어가 있는 항목이 없습니다.</translation>
    </message>
    <message>
        <source>Show All</source>
        <translation>모두 보기</translation>
    </message>
    <message>
        <source>Nothing was deleted</source>
        <translation>삭제된 항목 없음</translation>
    </message>
    <message>
        <source>A deleted prefix can be restored from here for 30 days.</source>
        <translation>삭제한 프리픽스는 30일 동안 여기에서 복원할 수 있습니다.</translation>
    </message>
    <message>
        <source>Prefixes cannot be read</source>
        <translation>프리픽스를 읽을 수 없음</translation>
    </message>
    <message>
        <source>Try Again</source>
        <translation>다시 시도</translation>
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
        <translation>포트가 사용 중임</translation>
    </message>
    <message>
        <source>Another program is using port {port}</source>
        <translation>다른 프로그램이 {port} 포트를 사용하고 있음</translation>
    </message>
    <message>
        <source>Ondol listens on {url} for chat clients. Choose another port here and in your clients, or quit the other program and try this one again.</source>
        <translation>온돌은 {url}에서 채팅 클라이언트를 기다립니다. 여기와 클라이언트에서 다른 포트를 선택하거나, 다른 프로그램을 종료하고 다시 시도하십시오.</translation>
    </message>
    <message>
        <source>Port</source>
        <translation>포트</translation>
    </message>
    <message>
        <source>Port:</source>
        <translation>포트:</translation>
    </message>
    <message>
        <source>Quit Ondol</source>
        <translation>온돌 종료</translation>
    </message>
    <message>
        <source>Try Again</source>
        <translation>다시 시도</translation>
    </message>
    <message>
        <source>Use This Port</source>
        <translation>이 포트 사용</translation>
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
        <translation>신규</translation>
    </message>
    <message>
        <source>Prefixes</source>
        <translation>프리픽스</translation>
    </message>
    <message>
        <source>What you were writing when Ondol ended was kept.</source>
        <translation>온돌이 종료될 때 작성하던 내용을 보관해 두었습니다.</translation>
    </message>
    <message>
        <source>Go On Writing</source>
        <translation>이어서 작성</translation>
    </message>
    <message>
        <source>Pin</source>
        <translation>고정</translation>
    </message>
    <message>
        <source>Warm</source>
        <translation>예열</translation>
    </message>
    <message>
        <source>“{name}” was deleted.</source>
        <translation>“{name}” 항목을 삭제했습니다.</translation>
    </message>
    <message>
        <source>{number} prefixes were deleted.</source>
        <translation>프리픽스 {number}개를 삭제했습니다.</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>실행 취소</translation>
    </message>
    <message>
        <source>{file} was not imported. {reason}</source>
        <translation>{file} 파일을 가져오지 못했습니다. {reason}</translation>
    </message>
    <message>
        <source>Import as “{name}”</source>
        <translation>“{name}” 이름으로 가져오기</translation>
    </message>
    <message>
        <source>Import as Document</source>
        <translation>문서로 가져오기</translation>
    </message>
    <message>
        <source>Search names and tags</source>
        <translation>이름 및 태그 검색</translation>
    </message>
    <message>
        <source>Search prefixes</source>
        <translation>프리픽스 검색</translation>
    </message>
    <message>
        <source>Kind of prefixes</source>
        <translation>프리픽스 종류</translation>
    </message>
    <message>
        <source>All kinds</source>
        <translation>모든 종류</translation>
    </message>
    <message>
        <source>Deleted</source>
        <translation>삭제됨</translation>
    </message>
    <message>
        <source>New prefix</source>
        <translation>새로운 프리픽스</translation>
    </message>
</context>
<context>
    <name>PriceLine</name>
    <message>
        <source>Counting…</source>
        <translation>세는 중…</translation>
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
        <translation>모두 제거</translation>
    </message>
    <message>
        <source>remove</source>
        <translation>제거</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>취소</translation>
    </message>
    <message>
        <source>Remove everything?</source>
        <translation>모두 제거하겠습니까?</translation>
    </message>
    <message>
        <source>Ondol stops, and {size} are deleted for good. Models in folders of your own stay.</source>
        <translation>온돌이 중단되고 {size}가 영구적으로 삭제됩니다. 직접 만든 폴더에 있는 모델은 남습니다.</translation>
    </message>
    <message>
        <source>Type “{word}” to confirm:</source>
        <translation>확인하려면 “{word}”를 입력하십시오.</translation>
    </message>
    <message>
        <source>Not Ondol’s, so it stays in the same folders: {names}.</source>
        <translation>온돌의 항목이 아니므로 같은 폴더에 남습니다: {names}.</translation>
    </message>
    <message>
        <source>Starter model</source>
        <translation>기본 모델</translation>
    </message>
    <message>
        <source>Templates, settings, history</source>
        <translation>템플릿, 설정, 기록</translation>
    </message>
    <message>
        <source>Backup of these</source>
        <translation>위 항목의 백업</translation>
    </message>
    <message>
        <source>Log</source>
        <translation>로그</translation>
    </message>
    <message>
        <source>Login item</source>
        <translation>로그인 항목</translation>
    </message>
    <message>
        <source>Working file</source>
        <translation>작업 파일</translation>
    </message>
</context>
<context>
    <name>RemoveSection</name>
    <message>
        <source>Remove Ondol</source>
        <translation>온돌 제거</translation>
    </message>
    <message>
        <source>Remove Everything…</source>
        <translation>모두 제거…</translation>
    </message>
    <message>
        <source>Remove everything</source>
        <translation>모두 제거</translation>
    </message>
    <message>
        <source>Stops Ondol and deletes its data, its logs and its login item. You see first what goes.</source>
        <translation>온돌을 중단하고 데이터, 로그, 로그인 항목을 삭제합니다. 먼저 무엇이 삭제되는지 확인할 수 있습니다.</translation>
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
        <translation>온돌 다시 시작</translation>
    </message>
    <message>
        <source>Takes effect after a restart: {names}</source>
        <translation>다시 시작한 후 적용: {names}</translation>
    </message>
    <message>
        <source>Requests that run now end with an error. What was computed is lost; pinned prefixes come back.</source>
        <translation>지금 실행 중인 요청은 오류로 끝납니다. 계산한 내용은 사라지고, 고정된 프리픽스는 다시 예열됩니다.</translation>
    </message>
    <message>
        <source>What was computed is lost; pinned prefixes come back.</source>
        <translation>계산한 내용은 사라지고, 고정된 프리픽스는 다시 예열됩니다.</translation>
    </message>
    <message>
        <source>port</source>
        <translation>포트</translation>
    </message>
    <message>
        <source>memory</source>
        <translation>메모리</translation>
    </message>
    <message>
        <source>answers at once</source>
        <translation>동시 응답</translation>
    </message>
    <message>
        <source>language</source>
        <translation>언어</translation>
    </message>
</context>
<context>
    <name>ServerSection</name>
    <message>
        <source>Server</source>
        <translation>서버</translation>
    </message>
    <message>
        <source>Port</source>
        <translation>포트</translation>
    </message>
    <message>
        <source>Start at login</source>
        <translation>로그인할 때 시작</translation>
    </message>
    <message>
        <source>The system starts Ondol in the menu bar, without its window.</source>
        <translation>시스템이 윈도우 없이 메뉴 막대에서 온돌을 시작합니다.</translation>
    </message>
    <message>
        <source>Until the restart clients find Ondol at {url}.</source>
        <translation>다시 시작하기 전까지 클라이언트는 {url} 주소로 연결합니다.</translation>
    </message>
    <message>
        <source>Clients find Ondol at {url}.</source>
        <translation>클라이언트는 {url} 주소로 연결합니다.</translation>
    </message>
    <message>
        <source>Choose a number from {least} to {most}.</source>
        <translation>{least}에서 {most} 사이의 숫자를 선택하십시오.</translation>
    </message>
    <message>
        <source>The login item could not be changed: {reason}.</source>
        <translation>로그인 항목을 변경할 수 없습니다. {reason}.</translation>
    </message>
</context>
<context>
    <name>SettingsPage</name>
    <message>
        <source>Settings</source>
        <translation>설정</translation>
    </message>
    <message>
        <source>The settings cannot be read: {reason}</source>
        <translation>설정을 읽을 수 없습니다. {reason}</translation>
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
        <translation>오늘 재사용</translation>
    </message>
    <message>
        <source>Prompt tokens since midnight that were warm and not computed again.</source>
        <translation>자정 이후 예열되어 있어서 다시 계산하지 않은 프롬프트 토큰입니다.</translation>
    </message>
    <message>
        <source>Hit rate today</source>
        <translation>오늘 적중률</translation>
    </message>
    <message>
        <source>Reused tokens&apos; share of all prompt tokens.</source>
        <translation>전체 프롬프트 토큰 중 재사용한 토큰의 비율입니다.</translation>
    </message>
    <message>
        <source>First token</source>
        <translation>첫 토큰</translation>
    </message>
    <message>
        <source>Median time from a request to its first token, today. A request is warm if at least half of its prompt was reused.</source>
        <translation>오늘 요청부터 첫 토큰까지 걸린 시간의 중앙값입니다. 프롬프트의 절반 이상을 재사용한 요청을 예열된 요청으로 봅니다.</translation>
    </message>
    <message>
        <source>Requests today</source>
        <translation>오늘 요청</translation>
    </message>
    <message>
        <source>Requests that have ended.</source>
        <translation>끝난 요청의 수입니다.</translation>
    </message>
    <message>
        <source>Time saved today</source>
        <translation>오늘 절약한 시간</translation>
    </message>
    <message>
        <source>Nothing was measured yet.</source>
        <translation>아직 측정된 것이 없습니다.</translation>
    </message>
    <message>
        <source>–</source>
        <translation>–</translation>
    </message>
    <message>
        <source>of {number} tokens</source>
        <translation>토큰 {number}개 중</translation>
    </message>
    <message>
        <source>of prompt tokens</source>
        <translation>프롬프트 토큰 중</translation>
    </message>
    <message>
        <source>{number} with a hit</source>
        <translation>적중 {number}개</translation>
    </message>
    <message>
        <source>estimated</source>
        <translation>추정값</translation>
    </message>
    <message>
        <source>Reused tokens × the measured time to compute one prompt token ({number} ms, the median of the last 24 hours).</source>
        <translation>재사용한 토큰 × 프롬프트 토큰 하나를 계산하는 데 측정된 시간(최근 24시간의 중앙값 {number}ms)입니다.</translation>
    </message>
    <message>
        <source>warm against cold</source>
        <translation>예열 대 미예열</translation>
    </message>
    <message>
        <source>cold; none was warm</source>
        <translation>미예열, 예열된 요청 없음</translation>
    </message>
    <message>
        <source>warm; none was cold</source>
        <translation>예열 시, 미예열 없음</translation>
    </message>
    <message>
        <source>warm; {time} cold</source>
        <translation>예열 시, 미예열 {time}</translation>
    </message>
</context>
<context>
    <name>TogetherSheet</name>
    <message>
        <source>A request that sends tools begins with its system policy, so both are kept warm together: choose the policy that clients send with these tools.</source>
        <translation>도구를 보내는 요청은 시스템 정책으로 시작하므로 둘을 함께 예열 상태로 유지합니다. 클라이언트가 이 도구와 함께 보내는 정책을 선택하십시오.</translation>
    </message>
    <message>
        <source>No system policy</source>
        <translation>시스템 정책 없음</translation>
    </message>
    <message>
        <source>&amp;Together with</source>
        <translation>함께 보내는 정책(&amp;T)</translation>
    </message>
</context>
<context>
    <name>TrayActions</name>
    <message>
        <source>Chat of {time}</source>
        <translation>{time}의 대화</translation>
    </message>
    <message>
        <source>Pinned</source>
        <translation>고정됨</translation>
    </message>
    <message>
        <source>“{name}” is being warmed.</source>
        <translation>“{name}” 항목을 예열하고 있습니다.</translation>
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
        <translation>버전을 읽는 중…</translation>
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
        <translation>한 번 계산하고 따뜻하게 유지</translation>
    </message>
    <message>
        <source>A prefix is what many requests begin with: the policy of an assistant, its tools, a document. Pinned here it stays in memory, and answers to every request that begins with it start at once.</source>
        <translation>프리픽스는 여러 요청이 공통으로 시작하는 부분입니다. 도우미의 정책, 도구, 문서 등이 있습니다. 여기에서 고정하면 메모리에 남아, 이것으로 시작하는 모든 요청에 바로 응답하기 시작합니다.</translation>
    </message>
    <message>
        <source>Write a system policy</source>
        <translation>시스템 정책 작성</translation>
    </message>
    <message>
        <source>The text that tells an assistant who it is and how it answers.</source>
        <translation>도우미가 누구이고 어떻게 답하는지 알려주는 텍스트입니다.</translation>
    </message>
    <message>
        <source>Paste a tool schema</source>
        <translation>도구 스키마 붙여넣기</translation>
    </message>
    <message>
        <source>The JSON list of functions that an assistant may call.</source>
        <translation>도우미가 호출할 수 있는 함수의 JSON 목록입니다.</translation>
    </message>
    <message>
        <source>Keep a document</source>
        <translation>문서 보관</translation>
    </message>
    <message>
        <source>A text that many questions are about. Or drop a file here.</source>
        <translation>여러 번 질문할 텍스트입니다. 파일을 여기에 끌어다 놓아도 됩니다.</translation>
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
        <source>Of them awaited</source>
        <translation>그중 기다린 것</translation>
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
        <translation>삭제되는 항목</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>이름</translation>
    </message>
    <message>
        <source>What it is</source>
        <translation>내용</translation>
    </message>
    <message>
        <source>Size</source>
        <translation>크기</translation>
    </message>
</context>
<context>
    <name>connect</name>
    <message>
        <source>The Python package; the same two values fit OpenAI’s other packages.</source>
        <translation>Python 패키지입니다. OpenAI의 다른 패키지에도 같은 두 값을 사용합니다.</translation>
    </message>
    <message>
        <source>For its first start. One that has run before takes the address, with any key, under Admin Settings → Connections. In Docker it needs --network=host.</source>
        <translation>처음 시작할 때 사용합니다. 이미 실행한 적이 있다면 Admin Settings → Connections에서 주소와 아무 키나 입력하십시오. Docker에서는 --network=host가 필요합니다.</translation>
    </message>
    <message>
        <source>Run this once in a terminal; from then on: llm -m ondol.</source>
        <translation>터미널에서 한 번 실행하십시오. 그다음부터는 llm -m ondol을 사용합니다.</translation>
    </message>
    <message>
        <source>In a terminal, to see whether it answers.</source>
        <translation>터미널에서 응답하는지 확인할 수 있습니다.</translation>
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
        <source>Hit rate</source>
        <translation>적중률</translation>
    </message>
    <message>
        <source>Made way</source>
        <translation>자리 내줌</translation>
    </message>
    <message>
        <source>Reused: prompt tokens that were warm. Hit rate: their share of all. Made way: memory ran short, so a request had to stop and went on later from what was kept of it.</source>
        <translation>재사용: 예열되어 있던 프롬프트 토큰. 적중률: 전체에서 재사용이 차지하는 비율. 자리 내줌: 메모리가 부족하여 요청을 잠시 멈추고, 나중에 남아 있는 부분부터 이어서 처리한 경우.</translation>
    </message>
    <message>
        <source>{share} reused</source>
        <translation>{share} 재사용</translation>
    </message>
    <message>
        <source>Per second, averaged over 10 seconds</source>
        <translation>초당, 10초 평균</translation>
    </message>
    <message>
        <source>In 15 minutes</source>
        <translation>15분 동안</translation>
    </message>
    <message>
        <source>{number} tokens/s</source>
        <translation>초당 토큰 {number}개</translation>
    </message>
    <message>
        <source>{number} tokens</source>
        <translation>토큰 {number}개</translation>
    </message>
    <message>
        <source>Time to first token</source>
        <translation>첫 토큰까지의 시간</translation>
    </message>
    <message>
        <source>Cold</source>
        <translation>미예열</translation>
    </message>
    <message>
        <source>Warm</source>
        <translation>예열</translation>
    </message>
    <message>
        <source>{number}× sooner when warm</source>
        <translation>예열되면 {number}배 빠름</translation>
    </message>
    <message>
        <source>From a request to the first word of its answer</source>
        <translation>요청부터 응답의 첫 단어까지</translation>
    </message>
    <message>
        <source>Speed</source>
        <translation>속도</translation>
    </message>
    <message>
        <source>Prefill</source>
        <translation>프롬프트 처리</translation>
    </message>
    <message>
        <source>Decode</source>
        <translation>응답 생성</translation>
    </message>
    <message>
        <source>Tokens per second while a request is worked on</source>
        <translation>요청을 처리하는 동안의 초당 토큰</translation>
    </message>
    <message>
        <source>Evictions</source>
        <translation>캐시 제거</translation>
    </message>
    <message>
        <source>Room for answers</source>
        <translation>응답 공간 확보</translation>
    </message>
    <message>
        <source>A client’s share</source>
        <translation>클라이언트 몫 초과</translation>
    </message>
    <message>
        <source>Model checkpoints</source>
        <translation>모델 체크포인트</translation>
    </message>
    <message>
        <source>Memory pressure</source>
        <translation>메모리 부족</translation>
    </message>
    <message>
        <source>Room for answers: running requests needed it. A client’s share: one client kept more than its due. Model checkpoints: the model’s states had more than their share. Memory pressure: the machine was short of memory.</source>
        <translation>응답 공간 확보: 실행 중인 요청에 필요했습니다. 클라이언트 몫 초과: 한 클라이언트가 제 몫보다 많이 차지했습니다. 모델 체크포인트: 모델의 상태가 정해진 몫보다 많이 차지했습니다. 메모리 부족: 컴퓨터의 메모리가 부족했습니다.</translation>
    </message>
    <message>
        <source>MiB of computed prompts given up, in {time}</source>
        <translation>{time} 동안 비운 계산된 프롬프트(MiB)</translation>
    </message>
    <message>
        <source>MiB of computed prompts given up, in 15 minutes</source>
        <translation>15분 동안 비운 계산된 프롬프트(MiB)</translation>
    </message>
    <message>
        <source>one request</source>
        <translation>요청 1개</translation>
    </message>
    <message>
        <source>{number} requests</source>
        <translation>요청 {number}개</translation>
    </message>
    <message>
        <source>Nothing was evicted</source>
        <translation>제거된 항목 없음</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>메모리</translation>
    </message>
    <message>
        <source>Pinned</source>
        <translation>고정됨</translation>
    </message>
    <message>
        <source>Protected</source>
        <translation>보호됨</translation>
    </message>
    <message>
        <source>Resident</source>
        <translation>상주</translation>
    </message>
    <message>
        <source>Running</source>
        <translation>실행 중</translation>
    </message>
    <message>
        <source>Free</source>
        <translation>여유</translation>
    </message>
    <message>
        <source>{name} {size}</source>
        <translation>{name} {size}</translation>
    </message>
    <message>
        <source>{used} of {budget}</source>
        <translation>{budget} 중 {used}</translation>
    </message>
    <message>
        <source>Pinned: never given up. Protected: used again lately, so a further answer does not start at their cost. Resident: may be given up. Running: the answers being written.</source>
        <translation>고정됨: 비우지 않습니다. 보호됨: 최근에 다시 사용되어, 이를 비우면서까지 응답을 더 시작하지 않습니다. 상주: 비울 수 있습니다. 실행 중: 작성 중인 응답입니다.</translation>
    </message>
    <message>
        <source>Computed prompts that stay in memory, within the budget</source>
        <translation>정해진 한도 안에서 메모리에 남아 있는 계산한 프롬프트</translation>
    </message>
    <message>
        <source>Hit rate {before} → {after} in the last {time}: requests had to make way as memory was short; it is not the prompts.</source>
        <translation>지난 {time} 동안 적중률 {before} → {after}: 메모리가 부족하여 요청이 자리를 내주어야 했습니다. 프롬프트 때문이 아닙니다.</translation>
    </message>
    <message>
        <source>One answer at a time</source>
        <translation>한 번에 응답 1개</translation>
    </message>
    <message>
        <source>Up to {number} answers at once</source>
        <translation>동시에 응답 {number}개까지</translation>
    </message>
    <message>
        <source>{most}: {size} stay for warm prefixes</source>
        <translation>{most}: {size}는 예열된 프리픽스용으로 남김</translation>
    </message>
    <message>
        <source>{most}: warm prefixes make way for them</source>
        <translation>{most}: 예열된 프리픽스가 자리를 내줌</translation>
    </message>
    <message>
        <source>A request needs {tokens} tokens for itself, the mean of the latest ones: its answer, and what of its prompt was not warm.</source>
        <translation>요청 하나에 필요한 토큰은 최근 평균 {tokens}개입니다. 응답과 예열되지 않은 프롬프트 부분을 합한 값입니다.</translation>
    </message>
    <message>
        <source>Hit rate {before} → {after} in the last {time}: what was asked for again had been given up as memory was short; it is not the prompts.</source>
        <translation>지난 {time} 동안 적중률 {before} → {after}: 다시 요청된 내용이 메모리 부족으로 이미 비워져 있었습니다. 프롬프트 때문이 아닙니다.</translation>
    </message>
    <message>
        <source>Hit rate {before} → {after} in the last {time}: a model was started, with nothing warm yet; what is asked for again will be.</source>
        <translation>지난 {time} 동안 적중률 {before} → {after}: 모델이 시작되어 아직 준비된 프리픽스가 없었습니다. 다시 요청하면 준비되어 있습니다.</translation>
    </message>
    <message>
        <source>Hit rate {before} → {after} in the last {time}: more was asked that had not been asked lately.</source>
        <translation>지난 {time} 동안 적중률 {before} → {after}: 최근에 없던 내용의 요청이 늘었습니다.</translation>
    </message>
    <message>
        <source>Besides pinned ones and those in use, prefixes that were used again lately take {size}.</source>
        <translation>고정된 것과 사용 중인 것을 제외하고, 최근에 다시 사용된 프리픽스의 크기는 {size}입니다.</translation>
    </message>
    <message>
        <source>Nobody waits</source>
        <translation>대기 중인 요청 없음</translation>
    </message>
    <message>
        <source>1 waits for the same beginning to be computed</source>
        <translation>1개가 같은 앞부분의 계산을 기다림</translation>
    </message>
    <message>
        <source>{number} wait for the same beginning to be computed</source>
        <translation>{number}개가 같은 앞부분의 계산을 기다림</translation>
    </message>
    <message>
        <source>1 waits for its turn</source>
        <translation>1개가 차례를 기다림</translation>
    </message>
    <message>
        <source>{number} wait for their turn</source>
        <translation>{number}개가 차례를 기다림</translation>
    </message>
    <message>
        <source>1 waits for memory</source>
        <translation>1개가 메모리를 기다림</translation>
    </message>
    <message>
        <source>{number} wait for memory</source>
        <translation>{number}개가 메모리를 기다림</translation>
    </message>
    <message>
        <source>1 waits for another answer to end</source>
        <translation>1개가 다른 응답이 끝나기를 기다림</translation>
    </message>
    <message>
        <source>{number} wait for another answer to end</source>
        <translation>{number}개가 다른 응답이 끝나기를 기다림</translation>
    </message>
    <message>
        <source>1 waits for the end of the pause</source>
        <translation>1개가 일시 정지가 끝나기를 기다림</translation>
    </message>
    <message>
        <source>{number} wait for the end of the pause</source>
        <translation>{number}개가 일시 정지가 끝나기를 기다림</translation>
    </message>
    <message>
        <source>hour</source>
        <translation>1시간</translation>
    </message>
    <message>
        <source>{number} minutes</source>
        <translation>{number}분</translation>
    </message>
</context>
<context>
    <name>pages</name>
    <message>
        <source>Dashboard</source>
        <translation>대시보드</translation>
    </message>
    <message>
        <source>Prefixes</source>
        <translation>프리픽스</translation>
    </message>
    <message>
        <source>Requests</source>
        <translation>요청</translation>
    </message>
    <message>
        <source>Connect</source>
        <translation>연결</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>설정</translation>
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
        <source>System Policy…</source>
        <translation>시스템 정책…</translation>
    </message>
    <message>
        <source>Tool Schema…</source>
        <translation>도구 스키마…</translation>
    </message>
    <message>
        <source>Document…</source>
        <translation>문서…</translation>
    </message>
    <message>
        <source>House Instructions…</source>
        <translation>우리 집 지침…</translation>
    </message>
    <message>
        <source>Chat History…</source>
        <translation>대화 기록…</translation>
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
        <translation>파일로 프리픽스 생성</translation>
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
        <source>Ondol could not complete this request, or not within the time that the client had set, and told the client so. The log, which Settings opens, has more.</source>
        <translation>온돌이 이 요청을 완료하지 못했거나 클라이언트가 정한 시간 안에 끝내지 못했으며, 클라이언트에 이를 알렸습니다. 자세한 내용은 설정에서 열 수 있는 로그에 있습니다.</translation>
    </message>
    <message>
        <source>Did not wait for another request that was computing the same beginning ({tokens} tokens). First word expected after {compute} this way, {wait} by waiting.</source>
        <translation>같은 앞부분(토큰 {tokens}개)을 계산하던 다른 요청을 기다리지 않았습니다. 첫 단어까지 예상 시간은 이대로 {compute}, 기다리면 {wait}였습니다.</translation>
    </message>
    <message>
        <source>Waited {parked} for another request that was computing the same beginning ({tokens} tokens), and ended before it began itself.</source>
        <translation>같은 앞부분(토큰 {tokens}개)을 계산하던 다른 요청을 {parked} 동안 기다렸지만, 시작하기 전에 끝났습니다.</translation>
    </message>
    <message>
        <source>Waited {parked} for another request that was computing the same beginning ({tokens} tokens), but found nothing of it, so it was computed again.</source>
        <translation>같은 앞부분(토큰 {tokens}개)을 계산하던 다른 요청을 {parked} 동안 기다렸지만, 재사용할 것이 없어 다시 계산했습니다.</translation>
    </message>
    <message>
        <source>Had to make way for others once, as memory was short.</source>
        <translation>메모리가 부족하여 한 번 다른 요청에 자리를 내주었습니다.</translation>
    </message>
    <message>
        <source>Had to make way for others {number} times, as memory was short.</source>
        <translation>메모리가 부족하여 {number}번 다른 요청에 자리를 내주었습니다.</translation>
    </message>
    <message>
        <source>Waited {parked} for another request that was computing the same beginning ({tokens} tokens). First word expected after {wait} this way, {compute} by computing it again.</source>
        <translation>같은 앞부분(토큰 {tokens}개)을 계산하던 다른 요청을 {parked} 동안 기다렸습니다. 첫 단어까지 예상 시간은 이렇게 하면 {wait}, 다시 계산하면 {compute}였습니다.</translation>
    </message>
    <message>
        <source>{reused}, {number} tokens of it after waiting for another request</source>
        <translation>{reused}, 그중 토큰 {number}개는 다른 요청을 기다려 재사용</translation>
    </message>
</context>
<context>
    <name>run</name>
    <message>
        <source>Ondol is already running</source>
        <translation>온돌이 이미 실행 중임</translation>
    </message>
    <message>
        <source>The data folder cannot be used</source>
        <translation>데이터 폴더를 사용할 수 없음</translation>
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
<context>
    <name>trouble</name>
    <message>
        <source>The model cannot be used.</source>
        <translation>이 모델을 사용할 수 없습니다.</translation>
    </message>
    <message>
        <source>This machine is short of memory: only prefixes that were used again lately stay warm until there is more.</source>
        <translation>컴퓨터의 메모리가 부족합니다. 여유가 생길 때까지 최근에 다시 사용된 프리픽스만 예열해 둡니다.</translation>
    </message>
    <message>
        <source>It cannot be kept warm.</source>
        <translation>예열해 둘 수 없습니다.</translation>
    </message>
    <message>
        <source>There is already a prefix named “{name}”.</source>
        <translation>이름이 “{name}”인 프리픽스가 이미 있습니다.</translation>
    </message>
    <message>
        <source>A newer Ondol has written the database (format {found}; this one knows up to {supported}). Start the newer Ondol, or choose another data folder.</source>
        <translation>더 새로운 온돌이 기록한 데이터베이스입니다(형식 {found}, 현재 온돌은 {supported}까지 지원). 새로운 온돌을 실행하거나 다른 데이터 폴더를 선택하세요.</translation>
    </message>
    <message>
        <source>Line {line} cannot be used.</source>
        <translation>{line}번째 줄을 사용할 수 없습니다.</translation>
    </message>
    <message>
        <source>It has {tokens} tokens, and {limit} is the most that fits.</source>
        <translation>토큰이 {tokens}개이며, 최대 {limit}개까지 가능합니다.</translation>
    </message>
    <message>
        <source>{budget} for prompts is more than the {memory} of memory there is.</source>
        <translation>프롬프트용 메모리 {budget}는 이 컴퓨터의 메모리 {memory}보다 큽니다.</translation>
    </message>
    <message>
        <source>{name} is a GGUF file, and Ondol loads model folders. Make one of it first: ondol import {name}</source>
        <translation>GGUF 파일입니다: {name}. 온돌은 모델 폴더를 불러옵니다. 먼저 폴더로 변환하세요: ondol import {name}</translation>
    </message>
    <message>
        <source>Process {pid} has this data folder.</source>
        <translation>프로세스 {pid}번이 이 데이터 폴더를 사용하고 있습니다.</translation>
    </message>
    <message>
        <source>The disk is full. Free some space and try again.</source>
        <translation>디스크가 가득 찼습니다. 공간을 확보한 뒤 다시 시도하세요.</translation>
    </message>
    <message>
        <source>Ondol may not write to its data folder, so nothing was changed.</source>
        <translation>데이터 폴더에 쓸 권한이 없어 아무것도 변경하지 않았습니다.</translation>
    </message>
    <message>
        <source>Another program is using the database. Close it and try again.</source>
        <translation>다른 프로그램이 데이터베이스를 사용하고 있습니다. 그 프로그램을 닫고 다시 시도하세요.</translation>
    </message>
    <message>
        <source>The database is damaged, or is none. It was left as it is.</source>
        <translation>데이터베이스가 손상되었거나 데이터베이스가 아닙니다. 파일은 그대로 두었습니다.</translation>
    </message>
    <message>
        <source>The disk could not be read or written.</source>
        <translation>디스크를 읽거나 쓸 수 없습니다.</translation>
    </message>
    <message>
        <source>The database could not be brought up to date.</source>
        <translation>데이터베이스를 새 형식으로 변환할 수 없습니다.</translation>
    </message>
    <message>
        <source>Ondol is ending.</source>
        <translation>온돌을 종료하는 중입니다.</translation>
    </message>
    <message>
        <source>This prefix, or this version of it, is gone.</source>
        <translation>이 프리픽스 또는 이 버전이 더 이상 없습니다.</translation>
    </message>
    <message>
        <source>This prefix is not pinned.</source>
        <translation>고정되지 않은 프리픽스입니다.</translation>
    </message>
    <message>
        <source>This cannot be used as it is.</source>
        <translation>이대로는 사용할 수 없습니다.</translation>
    </message>
    <message>
        <source>This model could run code of its own.</source>
        <translation>이 모델은 자체 코드를 실행할 수 있어 사용할 수 없습니다.</translation>
    </message>
    <message>
        <source>The model&apos;s chat template does not take this.</source>
        <translation>모델의 채팅 템플릿이 이 내용을 받지 않습니다.</translation>
    </message>
    <message>
        <source>This is no data folder of Ondol&apos;s.</source>
        <translation>온돌의 데이터 폴더가 아닙니다.</translation>
    </message>
    <message>
        <source>No chat has arrived yet.</source>
        <translation>아직 받은 채팅이 없습니다.</translation>
    </message>
    <message>
        <source>No model is running yet.</source>
        <translation>아직 실행 중인 모델이 없습니다.</translation>
    </message>
    <message>
        <source>Too many requests are waiting. Try again later.</source>
        <translation>대기 중인 요청이 너무 많습니다. 나중에 다시 시도하세요.</translation>
    </message>
    <message>
        <source>There is no text in it.</source>
        <translation>내용이 없습니다.</translation>
    </message>
    <message>
        <source>The system does not allow it.</source>
        <translation>시스템에서 허용하지 않습니다.</translation>
    </message>
</context>
</TS>
